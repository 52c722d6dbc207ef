"""What a user types: `python -m minitrpo NAME`, or the script of the same name in mpi_scripts/. Serves all lectures."""

from minitrpo.parallel.launcher import leave_at_interrupts

leave_at_interrupts()  # loading takes a second
