"""Supervision: that every job ends, and says why. The loops only say what they are doing; see `status`."""
