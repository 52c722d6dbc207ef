"""Lecture 11b: one-step Q, Sarsa and n-step Q, with a barrier and without; `targets` has the formulas."""
