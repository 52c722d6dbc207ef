"""One system trains for a few updates and says in one line of JSON what they took: `peers` starts it."""

import json
import resource
import sys

from benchmarks.options import make_parser
from benchmarks.systems import FAMILIES, train


def peak_mb(of_children: bool) -> int:
    """Return the most memory that this process has held, or the largest of its children that have ended."""
    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    return round(resource.getrusage(who).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2))


def main() -> None:
    """Run one system; the last line on stdout is JSON. The first update is not counted."""
    parser = make_parser(__doc__)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("system")
    parser.add_argument("--env", required=True)
    parser.add_argument("--steps", type=int, required=True, help="per update")
    parser.add_argument("--updates", type=int, required=True)
    args = parser.parse_args()
    if args.system not in FAMILIES[args.family].systems:
        parser.error(f"no system {args.system!r}; there is {', '.join(FAMILIES[args.family].systems)}")
    workload = FAMILIES[args.family].workload(args.env, args.steps, args.updates)
    times = list(train(args.family, args.system, workload))
    print(json.dumps({"times": times[1:], "peak_mb": peak_mb(of_children=args.system.startswith("minitrpo"))}))


if __name__ == "__main__":
    main()
