"""The course in JupyterLab: `copies` gives a student the notebooks and later corrections; `command` opens them."""
