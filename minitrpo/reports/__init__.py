"""Reports: what becomes of a run's numbers: progress, pictures, films, speed-up. Serves lectures 06 and 08."""
