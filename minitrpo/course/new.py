"""Start an algorithm of your own: write the example, REINFORCE in 50 lines, to NAME.py in this folder."""

import importlib.util
import keyword
import os
from pathlib import Path

from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.supervision.exit_codes import command

EXAMPLE = Path(__file__).with_name("reinforce.py")


@command("new")
def main(name: str, words: list[str]) -> int:
    """Write the file and say what to type next."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("name", metavar="NAME", help="of the module, such as mine")
    module = parser.parse_args(words).name.removesuffix(".py")
    path = Path(f"{module}.py")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise BadInput(f"{module!r} cannot be the name of a module: letters, digits and _ make one, such as mine")
    if os.path.lexists(path):
        raise BadInput(f"{path} exists: choose another name")
    if importlib.util.find_spec(module) is not None:
        raise BadInput(f"{module} is the name of a package: choose another name")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE.read_text("utf-8").replace("reinforce:", f"{module}:"))
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
    print(f"{path} is yours. mpiexec -n 2 python -m minitrpo train --algorithm {module}:Reinforce --env CartPole-v1")
    return 0
