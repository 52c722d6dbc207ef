"""Lecture 11a: actor-critic, A2C and A3C; `loss` has the formulas."""
