"""A command line that asks for a run of each of several seeds."""

import os
import re
from dataclasses import replace

from minitrpo.commands.command_line import Arguments
from minitrpo.errors import BadInput

MOST = 1000


def one_by_one(arguments: Arguments) -> list[Arguments]:
    """Return the job of each of --seeds, or the one that there is; BadInput for what are no seeds."""
    if arguments.seeds is None:
        return [arguments]
    seeds = seeds_of(arguments.seeds)
    if not 1 <= len(seeds) <= MOST or len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds must be 1 to {MOST} different ones, such as 0-4 or 0,3,7, not {arguments.seeds!r}")
    jobs = [replace(arguments, given=arguments.given | {"seed": seed}) for seed in seeds]
    for job in jobs:
        job.choice()
    return [replace(job, out=job.out and os.path.join(job.out, f"seed{job.given['seed']}")) for job in jobs]


def seeds_of(text: str) -> list[int]:
    """Return the numbers that 0-4 or 0,3,7 means; none for what means nothing, or too many."""
    ends = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,19})", text)
    if ends:
        first, last = int(ends[1]), int(ends[2])
        return list(range(first, last + 1)) if last - first < MOST else []
    return [int(number) for number in text.split(",")] if re.fullmatch(r"[0-9]{1,19}(,[0-9]{1,19})*", text) else []
