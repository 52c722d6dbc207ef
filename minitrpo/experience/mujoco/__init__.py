"""Batched MuJoCo: Gymnasium's own tasks, all environment slots stepped by one call into C. Serves lecture 06."""
