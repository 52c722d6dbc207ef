"""The course: what lectures need and training does not."""
