"""minitrpo: Parallel Trust Region Policy Optimization, taught and run by the same small package.

The modules beside this file are the mathematics of TRPO and nothing else; `experience`, `parallel` and `runs`
serve them, and `algorithms` holds the family that runs on all of it.
"""

__version__ = "0.2.0"
