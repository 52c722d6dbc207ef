"""Every recorded number of minitrpo: what was run, its tables, pictures and pages. python -m experiments list."""
