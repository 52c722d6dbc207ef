"""The rules that ruff and mypy do not have: python tests/tools/lint.py (make lint). A line for each offender; exit 1.

A rule is a function that yields what offends it. Of code: who may import whom. Of pages: what they link to, name and
show is there, and their tables and numbers are what was recorded.
"""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]

import concepts  # noqa: E402
import report as cluster  # noqa: E402

from experiments import pages as recorded  # noqa: E402
from experiments.numbers import NUMBERS  # noqa: E402
from experiments.typed import typed_numbers  # noqa: E402
from minitrpo.algorithms.registry import ALGORITHMS  # noqa: E402

# From the ground up, above the mathematics; a file imports from its own floor and from those below
FLOORS = ["parallel", "supervision", "experience", "algorithms", "run_folder", "training", "reports"]
FLOORS += ["commands", "python_api", "course", "checks", "__main__"]
VISITORS = ("checks", "python_api", "__main__", "__init__")  # at the root for their names alone

# Words of this project's own that are gone, and the field's words for them
GONE = {"lane": "environment", "lanes": "environments", "knob": "setting", "knobs": "settings", "thrice": "three times"}
GONE |= {
    "those_who_work": "working_ranks",
    "let_go": "release_locks",
    "named_again": "trusted",
    "told_of": "describe_error",
}
GONE |= {"nowayout": "exit_now", "take_away": "remove", "pending": "rank.collect, learner.learn"}

CHANGING = {"EpisodeFailed", "Outcome", "StepNoise"}  # records that do not stay as they were made

# How a command of a page begins that needs another machine or a network, or that is ours
KNOWN = ("module load", "python3.11 -m venv", "pip ", "sbatch", "srun", "conda ", "ssh ", ". .venv", "git ")
KNOWN += ("minitrpo ", "python -m minitrpo", "python mpi_scripts/", "mpiexec -n ", ".venv/bin/")
KNOWN += ("python -m experiments ", "./run ", "uv ")

TOP = [".binder", ".ci", ".devcontainer", ".gitattributes", ".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE"]
TOP += ["MANIFEST.in", "Makefile", "README.md", "docs", "environment.yml", "experiments", "minitrpo"]
TOP += ["mpi_scripts", "notebooks", "pyproject.toml", "requirements.lock", "run", "setup.py", "tests"]


@cache
def text(file):
    return file.read_text("utf-8")


@cache
def tree(file):
    """Return the syntax of a file; of a lecture without the lines that IPython alone knows."""
    return ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in text(file).split("\n")))


def python(*folders):
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@cache
def tracked():
    """Return every file of the repository, new ones too; without git, what lies in its folders."""
    words = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    names = done.stdout.splitlines() or [str(p) for name in TOP for p in (ROOT / name, *(ROOT / name).rglob("*"))]
    return [ROOT / name for name in names if (ROOT / name).is_file() and "__pycache__" not in name]


@cache
def pages():
    """Return {page: its text}: Markdown, and the text of lectures."""
    found = {file: text(file) for file in tracked() if file.suffix == ".md" and file.name != "CHANGELOG.md"}
    for file in python("notebooks/source"):
        found[file] = "\n".join(line[2:] for line in text(file).splitlines() if line.startswith("# "))
    return found


def short(file):
    return str(file.relative_to(ROOT))


def inside(name, *rooms):
    return any(name == room or name.startswith(room + ".") for room in rooms)


def module_of(file):
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def floor(file):
    room = module_of(file).split(".")[1]
    return -1 if file in MATHEMATICS else FLOORS.index(room) if file in PACKAGE else len(FLOORS)


def file_of(module):
    path = ROOT / module.replace(".", "/")
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.exists()), None)


@cache
def imports(file):
    """Return the full names of all modules that a file imports, "minitrpo.x" for `from minitrpo import x` too."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if inside(name, "minitrpo") and file_of(name)} or {node.module}
    return found


def arrows(file):
    """Return the files of the package that a file imports, except minitrpo/__init__.py."""
    return {file_of(name) for name in imports(file) if inside(name, "minitrpo")} - {None, ROOT / "minitrpo/__init__.py"}


def has(file, name):
    """Return whether a file defines this name, or Class.method; of a name that ends in _ the beginning is enough."""
    parts = [rf"^ *(class |def |async def )?{part}" + r"\b" * (name[-1] != "_") for part in name.split(".")]
    return all(re.search(part, text(file), re.MULTILINE) for part in parts)


ONE_PAGE = ROOT / "mpi_scripts/trpo_in_one_file.py"
FIRST_STEPS = python("mpi_scripts/first_steps")
PACKAGE, SCRIPTS = python("minitrpo"), [*sorted((ROOT / "mpi_scripts").glob("*.py")), *FIRST_STEPS]
ROOMS = [file for file in (*PACKAGE, *SCRIPTS) if file.name != "__init__.py"]
MATHEMATICS = [file for file in PACKAGE if file.parent.name == "minitrpo" and file.stem not in VISITORS]


def a_file_imports_from_its_own_floor_and_from_those_below():
    for file in ROOMS:
        yield from (f"{short(file)} imports {short(other)}" for other in arrows(file) if floor(other) > floor(file))


def nothing_imports_in_a_circle():
    graph, done = {file: arrows(file) & set(ROOMS) for file in ROOMS}, set()
    while free := {file for file in graph.keys() - done if graph[file] <= done}:
        done |= free
    yield from (f"{short(file)} is in a circle, or imports one" for file in graph.keys() - done)


def the_mathematics_needs_numpy_scipy_and_autograd_alone():
    allowed = {"numpy", "scipy", "autograd"} | sys.stdlib_module_names
    for file in MATHEMATICS:
        for module in imports(file):
            if module.partition(".")[0] not in allowed and file_of(module) not in MATHEMATICS:
                yield f"{short(file)} imports {module}"


def the_registry_and_its_own_module_alone_name_an_algorithm():
    about_all = [*MATHEMATICS, ROOT / "minitrpo/__init__.py", ROOT / "minitrpo/algorithms/registry.py"]
    for file in {*PACKAGE, *SCRIPTS} - {*about_all, ONE_PAGE, *python("minitrpo/course")}:
        for name, entry in ALGORITHMS.items():
            module, _, kind = entry.place.partition(":")
            of_it = inside(module, module_of(file)) or module_of(file) == f"{module}_settings"
            if not of_it and re.search(rf"\b({name}|{kind})\b", text(file)):
                yield f"{short(file)} names {name}"


def a_member_opens_with_its_box_and_says_where_each_line_runs():
    for file in sorted({file_of(entry.place.partition(":")[0]) for entry in ALGORITHMS.values()}):
        steps = re.findall(r"^ *\d\. (.*)$", ast.get_docstring(tree(file)) or "", re.MULTILINE)
        yield from () if len(steps) >= 5 else (f"{short(file)} has {len(steps)} numbered steps",)
        for step, place in ((step, re.search(r"([\w/]+\.py): ([\w., ]+)$", step)) for step in steps):
            where = ROOT / "minitrpo" / place[1] if place else file
            if not place or not where.exists() or not all(has(where, name) for name in place[2].split(", ")):
                yield f"{short(file)}: where does this run? {step}"


def lectures_experiments_and_tools_import_public_names_that_are_there():
    for file in python("notebooks", "experiments", "tests/tools", "docs"):
        froms = [node for node in ast.walk(tree(file)) if isinstance(node, ast.ImportFrom)]
        for module, name in ((node.module, a.name) for node in froms for a in node.names if node.module):
            if inside(module, "minitrpo"):
                there = file_of(f"{module}.{name}") or hasattr(importlib.import_module(module), name)
                if not there or (name.startswith("_") and file.parent.name == "source"):
                    yield f"{short(file)} imports {name} of {module}"


def words_that_are_gone_stay_away():
    words = re.compile(rf"\b({'|'.join(GONE)})\b", re.IGNORECASE)
    found = {(file, word) for file in (*PACKAGE, *SCRIPTS, *pages()) for word in words.findall(text(file))}
    yield from (f"{short(file)}: {word}: say {GONE[word.lower()]}" for file, word in found)


def every_link_leads_somewhere_and_every_page_is_linked():
    linked = {ROOT / "README.md"}
    for page, words in pages().items():
        folder = ROOT / "notebooks" if page.suffix == ".py" else page.parent
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```|`[^`\n]+`", "", words, flags=re.M | re.S)):
            place, _, anchor = link.partition("#")
            target = (folder / place).resolve() if place else page
            linked.add(target)
            if not link.startswith(("http", "mailto:")) and not target.exists():
                yield f"{short(page)}: {link}"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{short(page)}: {link}: there is no such heading"
    alone = [page for page in pages() if page.parent.name == "docs" or page.name == "README.md"]
    yield from (f"{short(page)} is linked nowhere" for page in alone if page not in linked)


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", text(page), re.MULTILINE)  # as GitHub makes them
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def a_command_of_a_page_is_ours_or_needs_another_machine():
    targets = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    for page, words in pages().items():
        told = set(re.findall(r"`(?:[A-Z]+=\S+ )*make ([a-z-]+)", words))
        for block in re.findall(r"^ *```sh\n(.*?)^ *```", words, re.MULTILINE | re.DOTALL):
            for line in (line.partition("#")[0].strip() for line in block.replace("\\\n", " ").splitlines()):
                made = re.search(r"(?:^|\s)make ([a-z-]+)", line)
                told |= {made[1]} if made else set()
                if line and not made and not line.startswith(KNOWN):
                    yield f"{short(page)}: {line}"
        yield from (f"{short(page)}: make {name}" for name in told - targets)


def what_a_page_names_is_there():
    numbers = {file.stem.partition("_")[0] for file in python("notebooks/source")}
    lectures = "|".join(numbers | {number[:2] for number in numbers})  # lecture 09: 09a and 09b
    folders = {*TOP, *(folder.name for name in TOP for folder in (ROOT / name).glob("[!_.]*/"))}
    named = re.compile(r"`(?:python )?([\w./-]+\.(?:py|md|ipynb|json|csv))(?:::? ?([\w.]+))?")
    for page, words in pages().items():
        for path, thing in named.findall(re.sub(r"^\*`.*$", "", words, flags=re.MULTILINE)):  # what made a table
            found = [file for file in tracked() if f"/{file}".endswith(f"/{path}")]
            ours = path.partition("/")[0] in folders or thing or path.startswith("test_")
            if ours and "NN" not in path and not any(not thing or has(file, thing.strip(".")) for file in found):
                yield f"{short(page)} names {path} {thing}"
        for number in re.findall(rf"\b[Ll]ectures? (?!{lectures})(\d\d[a-c]?)\b", words):
            yield f"{short(page)} names lecture {number}"


def a_table_says_what_was_recorded():
    shown = {cluster.PAGE: cluster.fill(text(cluster.PAGE))}
    shown[ROOT / "notebooks/concepts.md"] = concepts.index()
    shown |= {page: recorded.filled(shown.get(page, text(page))) for page in recorded.PAGES}
    yield from (
        f"{short(file)}: its program would write something else: make pages"
        for file in shown
        if shown[file] != text(file)
    )


def a_measured_number_is_not_typed():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "experiments/README.md"):
        for line, words in typed_numbers(text(page)):
            yield f"{short(page)}:{line}: generate it, or write a setting as code (docs/CONTRIBUTING.md): {words}"


def a_line_does_not_begin_with_the_mark_of_a_number():
    for page, words in pages().items():
        for line, begins in enumerate(map(recorded.LEADING.match, words.splitlines()), 1):
            if begins:
                yield f"{short(page)}:{line}: Markdown takes this line for HTML: python -m experiments page wraps it"


def every_number_is_on_a_page():
    shown = {name for page in recorded.PAGES for _, name, _ in recorded.NUMBER.findall(text(page))}
    yield from (f"{name} of experiments/numbers is on no page" for name in sorted(NUMBERS.keys() - shown))


def a_picture_is_one_and_is_on_a_page():
    link = re.compile(r"!\[[^]]*\]\((\S+)\)")
    shown = {(page.parent / place).resolve() for page in pages() for place in link.findall(text(page))}
    for file in (file for file in tracked() if file.suffix in {".png", ".jpg", ".gif"}):
        try:
            Image.open(file).load()
        except (OSError, SyntaxError) as error:
            yield f"{short(file)}: {error}"
        if file not in shown:
            yield f"{short(file)} is on no page"


def what_is_read_is_recorded_and_nothing_else_is():
    folder = ROOT / "notebooks/recorded"
    code = "".join(map(text, [*python("notebooks", "minitrpo"), *pages()]))
    wanted = re.findall(r'\brecorded\("(\S+)"\)', code)
    yield from (f"{name} is not recorded" for name in wanted if not (folder / name).exists())
    for file in (file for file in tracked() if file.parent == folder and file.suffix in (".json", ".csv", ".mp4")):
        if file.name not in code:
            yield f"{short(file)} is read by nobody"


def no_file_has_a_path_of_a_machine_and_the_top_level_is_as_designed():
    path = re.compile(r"(?<![\w.}])/(?:home|Users|root|work)/[\w.]+")
    for file in (file for file in tracked() if file.suffix in (".md", ".py", ".json", ".csv", ".ipynb", ".toml")):
        yield from (f"{short(file)}: {found}" for found in path.findall(text(file)))
    yield from {file.relative_to(ROOT).parts[0] for file in tracked()} - set(TOP)


def plans_of_a_lecture_have_no_gap_and_end_in_time():
    with_plans = {"01", "02", "03", "04", "05a", "05b", "05c", "06", "07b", "08", "09a", "09b", "12", "14", "16"}
    for file in (ROOT / f"notebooks/teaching/{number}.md" for number in sorted(with_plans)):
        rows = re.findall(r"^\| *([\d-]*) *\| *([\d-]*) *\|", text(file), re.MULTILINE)
        for column, length in enumerate((45, 90) if file.stem == "16" else (90, 120)):
            spans = [tuple(map(int, row[column].split("-"))) for row in rows if re.fullmatch(r"\d+-\d+", row[column])]
            gaps = [(one, two) for one, two in pairwise(spans) if not one[1] == two[0] < two[1]]
            if gaps or len(spans) < 6 or (spans[0][0], spans[-1][1]) != (0, length):
                yield f"{short(file)}, plan of {length} minutes: {gaps or spans}"


def points_of_what_is_handed_out_add_up():
    teaching = ROOT / "notebooks/teaching"
    for part in text(teaching / "assignments.md").split("\n## ")[1:]:
        rubric = part.split("| points | for |")[1].split("\n\n")[0]
        points = sum(map(int, re.findall(r"^\| (\d+) \|", rubric, re.MULTILINE)))
        yield from [f"assignments.md, {part.splitlines()[0]}: {points} points, not 20"] * (points != 20)
    questions, marks = text(teaching / "exam.md").split("## Mark scheme")
    points = [int(found) for found in re.findall(r"^\*\*\d+\. [^*]*\((\d+)\)\.\*\*", questions, re.MULTILINE)]
    parts = re.split(r"^\*\*\d+\. ", questions, flags=re.MULTILINE)[1:]
    of_parts = [sum(map(int, re.findall(r"[.?:;] \((\d+)\)", part.partition("**")[2]))) for part in parts]
    marked = len(re.findall(r"^\*\*\d+\.\*\*", marks, re.MULTILINE))
    if (sum(points), of_parts, marked) != (60, points, len(points)):
        yield f"exam.md: {sum(points)} points, {points}, their parts {of_parts}, {marked} answers marked"
    for file in (ROOT / "notebooks/source").glob("[0-9]*.py"):
        number = file.stem.partition("_")[0]
        if not re.search(rf"(?<!\d){number}(?![\da-z])", text(teaching / "syllabi.md")):
            yield f"syllabi.md names no lecture {number}"


def containers_and_citation_are_of_what_the_project_says():
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    container = json.loads(text(ROOT / ".devcontainer/devcontainer.json"))
    install, python_ = text(ROOT / ".binder/postBuild"), re.search(r"python=(\S+)", text(ROOT / "environment.yml"))[1]
    facts = {
        "devcontainer.json has another Python": container["image"].endswith(f":{python_}"),
        ".binder/environment.yml has another Python": f"python={python_}" in text(ROOT / ".binder/environment.yml"),
        "postBuild's constraints are not there": (ROOT / re.search(r"--constraint (\S+)", install)[1]).exists(),
        "postBuild asks for an extra that is not there": project["optional-dependencies"].keys()
        >= set(re.search(r"\[([\w,]+)\]", install)[1].split(",")),
        "CITATION.cff has another version": f"\nversion: {project['version']}\n" in text(ROOT / "CITATION.cff"),
        "CHANGELOG.md lacks this version": f"## {project['version']}" in text(ROOT / "CHANGELOG.md"),
    }
    for target in re.findall(r"\.venv/ready-\w+", container["updateContentCommand"]):
        facts[f"the Makefile lacks {target}"] = f"\n{target}:" in text(ROOT / "Makefile")
    yield from (what for what, holds in facts.items() if not holds)


def records_stay_as_they_were_made():
    for file in python("minitrpo"):
        for how, name in re.findall(r"^ *@dataclass(.*)\n(?: *@.*\n)*? *class (\w+)", text(file), re.MULTILINE):
            if "frozen=True" not in how and name not in CHANGING:
                yield f"{short(file)}: {name} is not frozen"


def one_page_stands_alone():
    libraries = {"argparse", "autograd", "gymnasium", "hashlib", "mpi4py", "os"}
    others = {name.split(".")[0] for name in imports(ONE_PAGE)} - libraries
    yield from (f"{ONE_PAGE.name} imports {name}" for name in sorted(others))
    if (lines := len(text(ONE_PAGE).splitlines())) > 200:
        yield f"{ONE_PAGE.name} has {lines} lines, not 200 at most"


def a_first_step_stands_alone_and_says_how_it_is_started():
    for file in FIRST_STEPS:
        others = {name.split(".")[0] for name in imports(file)} - {"gymnasium", "mpi4py", "numpy"}
        yield from (f"{short(file)} imports {name}" for name in sorted(others))
        if not re.search(rf"^mpiexec -n \d python {short(file)}$", ast.get_docstring(tree(file)) or "", re.MULTILINE):
            yield f"{short(file)} does not say how it is started"


def main():
    rules = [each for each in globals().values() if inspect.isgeneratorfunction(each)]
    found = [f"{each.__name__.replace('_', ' ')}: {line}" for each in rules for line in each()]
    return "\n".join(found) or 0  # a text is printed, and makes the exit code 1


if __name__ == "__main__":
    sys.exit(main())
