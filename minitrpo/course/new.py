"""Write an example of your own algorithm, REINFORCE in 50 lines, to NAME.py in this folder."""

import importlib.util
import keyword
from pathlib import Path

from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.supervision.program import command

EXAMPLE = Path(__file__).with_name("reinforce.py")


@command("new")
def main(name: str, words: list[str]) -> int:
    """Write the file and say what to type next."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("name", metavar="NAME", help="name of the module, such as mine")
    module = parser.parse_args(words).name.removesuffix(".py")
    path = Path(f"{module}.py")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise BadInput(f"{module!r} cannot be the name of a module: letters, digits and _ make one, such as mine")
    if importlib.util.find_spec(module) is not None:
        raise BadInput(f"{module} is the name of a package: choose another name")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE.read_text("utf-8").replace("reinforce:", f"{module}:"))
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}; choose another name, or folder") from error
    next_words = ("train", "--algorithm", f"{module}:Reinforce", "--env", "CartPole-v1")
    print(f"{path} is yours. {typed_command(*next_words, ranks=2)}")
    return 0
