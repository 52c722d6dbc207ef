"""Lecture 11: one-step Q, Sarsa and n-step Q, with a barrier and without; `targets` has the formulas."""
