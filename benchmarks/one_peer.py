"""One system trains for a few updates and says in one line of JSON what they took: `peers` starts it."""

import json
import resource
import sys

from benchmarks.options import make_parser
from benchmarks.systems import SYSTEMS, train
from benchmarks.workload import Workload


def peak_mb(of_children: bool) -> int:
    """Return the most memory that this process has held, or the largest of its children that have ended."""
    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    return round(resource.getrusage(who).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2))


def main() -> None:
    """Run one system; the last line on stdout is JSON. The first update is not counted."""
    parser = make_parser(__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--env", required=True)
    parser.add_argument("--steps", type=int, required=True, help="per update")
    parser.add_argument("--updates", type=int, required=True)
    args = parser.parse_args()
    times = list(train(args.system, Workload(args.env, args.steps, args.updates)))
    print(json.dumps({"times": times[1:], "peak_mb": peak_mb(of_children=args.system.startswith("minitrpo"))}))


if __name__ == "__main__":
    main()
