"""Explain why a run does not learn and where its time goes: what was seen, what is usual, and what to change."""

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.errors import BadInput
from minitrpo.parallel.this_process import one_blas_thread
from minitrpo.reports.explain import explain
from minitrpo.reports.trained_policy import MOST_EPISODES
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.program import command
from minitrpo.supervision.watchdog import guarded


@command("explain")
def main(name: str, words: list[str]) -> int:
    """Print the findings, the most important first; exit code 0 whatever they are."""
    parser = run_parser(name, __doc__)
    text = "episodes to play; 0: none (default: 20 or about 2,000 steps, at most 20 seconds)"
    parser.add_argument("--episodes", type=whole, metavar="N", help=text)
    args = parser.parse_args(words)
    if args.episodes is not None and not 0 <= args.episodes <= MOST_EPISODES:
        raise BadInput(f"--episodes must lie in [0, {MOST_EPISODES}], not {args.episodes}")
    with guarded(args.stuck_after), one_blas_thread():
        print(explain(trusted(RunFolder.open(args.run), vars(args)), args.episodes))
    return 0
