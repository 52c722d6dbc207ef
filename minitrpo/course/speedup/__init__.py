"""Lecture 08, the speed-up: `command` is `minitrpo speedup`, `experiment` its runs, `statistics` what they say."""
