"""Whether a person is there to see what is displayed."""

import os
import sys


def in_jupyter() -> bool:
    """Return whether a person looks at this kernel through Jupyter; nbval, nbclient and scripts are not that."""
    return "JPY_SESSION_NAME" in os.environ and "ipykernel" in sys.modules
