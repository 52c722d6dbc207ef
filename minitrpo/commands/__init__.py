"""What a user types: `python -m minitrpo NAME`, or the script of the same name in mpi_scripts/. Serves all lectures."""
