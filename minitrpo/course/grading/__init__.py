"""Grading: students' notebooks against the register of exercises, each in a process of its own. Serves all lectures.

`submissions` reads notebooks, `inside` runs one and checks its functions, `evidence` says whose function it was that
passed, `sandbox` starts `inside` and survives it, `table` makes rows of it all, `leaderboard` repeats
runs. `python -m minitrpo grade` prints them.
"""
