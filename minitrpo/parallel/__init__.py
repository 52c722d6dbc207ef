"""Many processes: ranks, the pool of episode requests, timing, and a watchdog. Serves lectures 06 to 08."""
