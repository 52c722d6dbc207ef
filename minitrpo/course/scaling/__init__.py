"""Lecture 15: from a laptop's measurements to a machine of 100,000 cores: formulas, a simulation, and their errors."""
