"""What a user types: `python -m minitrpo NAME`, or the script of the same name in mpi_scripts/. Serves all lectures."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from minitrpo.parallel.this_process import is_command

with suppress(OSError):  # `python -m` puts the folder one is in first, where a stranger's scipy.py may lie
    if is_command() and sys.path[0] == os.getcwd() and sys.modules["__main__"].__spec__ is not None:
        del sys.path[0]  # what is typed is looked for there, too: see `experience.trust`
        if Path(__file__).parents[2] == Path.cwd():
            sys.path.append(os.getcwd())

if is_command():  # Ctrl-C waits while modules are loaded, which takes a second, until `program.heed_interrupts`
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
