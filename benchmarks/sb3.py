"""One run of stable-baselines3-contrib's TRPO, its learning curve as a file: `seconds` and `as_typed` start it."""

from pathlib import Path

from benchmarks.options import make_parser
from benchmarks.record import origin, thinned, write_json
from experiments.systems.sb3 import trained


def main() -> None:
    """Train once and write the curve."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--total-steps", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--plain", action="store_true", help="as its documentation types it, with its own defaults")
    args = parser.parse_args()
    curve, seconds = trained(args.env, args.total_steps, args.seed, args.threads, args.plain)
    made = origin(("torch", "stable-baselines3", "sb3-contrib"))
    write_json(args.out, {"provenance": made, "seconds": seconds, "curve": thinned(curve)})


if __name__ == "__main__":
    main()
