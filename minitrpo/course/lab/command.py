"""Open the course in JupyterLab, in a folder of your own: new lectures are copied there, corrections are merged."""

import importlib.util
import os
import sys
from pathlib import Path

from minitrpo.commands.command_line import RootParser
from minitrpo.course import NOTEBOOKS
from minitrpo.course.lab.copies import put_widgets_away, update
from minitrpo.errors import BadInput
from minitrpo.supervision.exit_codes import command

SETTINGS = Path(__file__).parent / "settings"
EPILOG = """A lecture that the course has corrected is merged, cell by cell: what you have changed or added stays. Where
the course has changed the same cell, its text is shown below yours. The notebook as it was before lies in
FOLDER/.course. Delete or rename a lecture, and the next start brings a new one. Other words, such as --no-browser or
--port=8899, are for JupyterLab."""


@command("lab")
def main(name: str, words: list[str]) -> int:
    """Bring the folder up to date, and become JupyterLab."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("my"), metavar="FOLDER", help="default: my")
    parser.add_argument("--all", action="store_true", help="open the course's own folder, with sources and solutions")
    parser.add_argument("--copy", action="store_true", help="bring FOLDER up to date, and open nothing")
    args, more = parser.parse_known_args(words)
    if importlib.util.find_spec("jupyterlab") is None:
        raise BadInput("there is no JupyterLab here: pip install 'minitrpo[course]'")
    if args.all and not (NOTEBOOKS / "source").is_dir():
        raise BadInput("--all wants a clone of the course: sources and solutions are not in the package")
    folder = (NOTEBOOKS if args.all else args.folder).resolve()
    if running := server_of(folder):
        print(f"JupyterLab is open on {folder} already: {running}")
        return 0
    if not args.all:
        if folder.is_file() or folder in (NOTEBOOKS, NOTEBOOKS.parent):
            raise BadInput(f"{args.folder} cannot be a folder of your own: name a new one, such as my")
        for line in update(NOTEBOOKS, folder):
            print(line, flush=True)
        for notebook in folder.glob("[0-9]*.ipynb"):
            put_widgets_away(notebook)
    if args.copy:
        return 0
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    startup = os.environ.get("PYTHONSTARTUP") or str(SETTINGS / "startup.py")
    options = [f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={SETTINGS}"]
    options += ["--LabApp.default_url=/lab/tree/README.md", *["--allow-root"] * (os.geteuid() == 0), *more]
    variables = {**os.environ, "PATH": path, "PYTHONSTARTUP": startup}
    jupyter = [sys.executable, "-P", "-m", "jupyterlab", *options]
    return os.execve(sys.executable, jupyter, variables)  # noqa: S606 - Ctrl-C and the exit code are JupyterLab's


def server_of(folder: Path) -> str | None:
    """Return the address of a Jupyter server that is open on this folder: two would save over each other."""
    from jupyter_server.serverapp import list_running_servers

    servers = (server for server in list_running_servers() if Path(server["root_dir"]).resolve() == folder)
    return next((f"{server['url']}?token={server['token']}" for server in servers), None)
