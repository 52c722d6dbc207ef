"""Supervision: that every job ends, and says why. The loops only note what they are doing, in `watchdog.status`."""
