"""Training: the two loops, and what a reader of them reads. `synchronous.root_loop` is where to begin."""
