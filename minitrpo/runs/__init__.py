"""A training run: settings, the loop, the run folder, progress and plots. Serves lecture 05 and all that run it."""
