"""The loop without a barrier: its start, its workers, the ways to their parameters, and what the root sees of them."""
