"""The run folder: settings, log and checkpoints on disk, never half written."""
