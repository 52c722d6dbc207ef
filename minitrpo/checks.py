"""What the notebooks of all lectures call: `from minitrpo.checks import check`. The checks are in `course.checks`."""

from minitrpo.course.checks import check, hint, hunt, mine, names, target

__all__ = ["check", "hint", "hunt", "mine", "names", "target"]
