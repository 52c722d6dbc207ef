"""Lecture 10's experiment: stochastic gradient descent on many workers, without an environment."""
