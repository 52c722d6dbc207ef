"""Lectures 10, 13a and 13b: DQN, NAF and Gorila, which learn from a replay buffer."""
