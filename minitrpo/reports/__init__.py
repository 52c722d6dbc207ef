"""Reports: what becomes of a run: its progress, its picture, its policy. Serves lectures 06 and 08."""
