"""The former place of `experience.linear_quadratic`: old runs and scripts name its environment by this module."""

from minitrpo.experience.linear_quadratic import STEPS, A, B, LinearQuadratic, Q, R, best_return, riccati

__all__ = ["STEPS", "A", "B", "LinearQuadratic", "Q", "R", "best_return", "riccati"]
