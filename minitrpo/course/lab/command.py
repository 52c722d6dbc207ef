"""Open the course in JupyterLab, in your own folder: new lectures are copied there, and corrections are merged."""

import importlib.util
import os
import re
import sys
from pathlib import Path

from minitrpo.commands.command_line import RootParser
from minitrpo.course import NOTEBOOKS
from minitrpo.course.lab.copies import put_widgets_away, update
from minitrpo.errors import BadInput
from minitrpo.run_folder.provenance import pip_install
from minitrpo.supervision.program import command

SETTINGS = Path(__file__).parent / "settings"
EPILOG = """A corrected lecture is merged into your copy, cell by cell. Your changes and additions stay. If the course
has corrected a cell that you have changed, the corrected text appears below yours. The notebook before the merge is in
FOLDER/.course. If you delete or rename a lecture, the next start copies it again. Other options, such as --no-browser
or --port 8899, are passed to JupyterLab."""


@command("lab")
def main(name: str, words: list[str]) -> int:
    """Bring the folder up to date, and become JupyterLab."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise BadInput(f"JupyterLab is missing: {pip_install('minitrpo[course]')}")
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("my"), metavar="FOLDER", help="default: my")
    parser.add_argument("--all", action="store_true", help="open the course's own folder, with sources and solutions")
    parser.add_argument("--copy", action="store_true", help="update FOLDER without opening JupyterLab")
    args, more = parser.parse_known_args(with_values(words))
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


def with_values(words: list[str]) -> list[str]:
    """Return a command line on which an option of JupyterLab and its value are one word: the value is no FOLDER."""
    app, joined = importlib.import_module("jupyterlab.labapp").LabApp, list[str]()
    wants_a_value = re.compile(rf"--({'|'.join(app.aliases.keys() - app.flags.keys())}|\w+\.\w+)")
    for word in words:
        if joined and wants_a_value.fullmatch(joined[-1]) and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def server_of(folder: Path) -> str | None:
    """Return the address of a Jupyter server that is open on this folder: two would save over each other."""
    from jupyter_server.serverapp import list_running_servers

    servers = (server for server in list_running_servers() if Path(server["root_dir"]).resolve() == folder)
    return next((f"{server['url']}?token={server['token']}" for server in servers), None)
