"""The columns of metrics.csv, a row per update; the algorithm's own stand between the first and the last."""

from minitrpo.parallel.timing import PHASES

FIRST = ("iteration", "env_steps", "time_s", "episodes", "mean_return", "mean_length", "steps_per_update")
EVALUATION = ("eval_return",)  # with --eval-every: mean return of fresh episodes of the mean action, or empty
OF_EPISODES = ("mean_return", "mean_length")  # empty where no episode ended
SECONDS = (*(f"{phase}_s" for phase in PHASES), "iteration_s")
LAST = (*SECONDS, "ranks")
# What became of the gradients of an asynchronous algorithm since the last row, and how old they were
GRADIENTS = ("applied", "refused", "lost", "staleness_mean", "staleness_max")
TIMINGS = ("time_s", *LAST)  # differ run by run
