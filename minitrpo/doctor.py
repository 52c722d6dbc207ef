"""python -m minitrpo.doctor: the command under the name that messages and pages give it. Serves all lectures."""

import sys

from minitrpo.commands.doctor import main

if __name__ == "__main__":
    sys.exit(main())
