"""Grading: students' notebooks against the register of exercises, each in a process of its own. Serves all lectures.

`submissions` reads notebooks, `running` starts a process for each of them, in which `inside` runs its cells and checks
its functions; `table` makes rows and texts of what came out, `gradebook` fills in a learning platform's table,
`leaderboard` repeats runs. `python -m minitrpo grade` does it all.
"""
