"""Lecture 13: DQN, NAF and Gorila, which learn from a replay buffer."""
