"""What IPython runs when a kernel starts; no name of it is left in the notebook."""

__import__("minitrpo.course.lab.kernel")
