"""Many processes: ranks, their messages, the pool of requests, timing, parameter servers. Serves lectures 06 to 08."""
