"""What an exercise is checked against, one file per lecture; `check` is all a notebook needs.

`check(name, candidate)` has three outcomes: it returns and prints one line when the candidate is right, raises
AssertionError with the symptom when it is wrong, and NotImplementedError when it was not attempted.
"""

from minitrpo.course.checks.framework.register import check, hint, hunt, mine, names, target

__all__ = ["check", "hint", "hunt", "mine", "names", "target"]
