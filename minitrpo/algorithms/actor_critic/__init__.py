"""Lecture 11: actor-critic, A2C and A3C; `loss` has the formulas."""
