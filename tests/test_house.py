"""The house keeps its rules: arrows run one way, the mathematics stays pure, and everything fits on a screen."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitrpo.algorithms.registry import ALGORITHMS, load

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "minitrpo").rglob("*.py"))
SCRIPTS = sorted((ROOT / "mpi_scripts").glob("*.py"))
LECTURES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
TRPO_PATH = (
    *("policies", "returns", "policy_gradient", "natural_gradient"),
    *("conjugate_gradient", "line_search", "trpo", "adaptive"),
)
VISITORS = ("doctor", "classroom")  # in the root for their short names; they serve no lecture's mathematics

# From the ground up; a file may import from its own floor and from those below. First match counts.
FLOORS = (
    ("errors", "perceptron"),
    ("policies", "block_sums", "optimisers"),
    (
        *("returns", "critics", "policy_gradient", "natural_gradient", "conjugate_gradient", "line_search", "adaptive"),
        *("log_probability", "last_step"),
    ),
    ("trpo",),
    ("experience",),
    ("parallel",),
    ("algorithms",),
    ("runs",),
    ("commands", "checks", "grading", *VISITORS),
    ("__main__",),
    ("mpi_scripts",),
)


def name_of(file):
    """Return "experience.filters" for minitrpo/experience/filters.py, "mpi_scripts.train" for a script."""
    inside = file.relative_to(ROOT)
    parts = inside.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "minitrpo" else parts)


def is_part_of(name, room):
    return name == room or name.startswith(room + ".")


def floor(name):
    """Return the floor on which a file lies; a folder's own __init__ lies with its folder."""
    return next(i for i, rooms in enumerate(FLOORS) if any(is_part_of(name, room) for room in rooms))


def imports(file, outside_of_functions=False):
    """Return the full names of all modules that a file imports, "minitrpo.x" for `from minitrpo import x` too."""
    found, waiting = set(), [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        if outside_of_functions and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: the house imports by full names"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in submodules if file_of(name)}
            found |= modules or {node.module}
        waiting += ast.iter_child_nodes(node)
    return found


def file_of(module):
    """Return the file of a module of this package, or None."""
    path = ROOT / module.replace(".", "/")
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.exists()), None)


def arrows(file):
    """Return the names of the package's own files that a file imports."""
    return {name_of(file_of(m)) for m in imports(file) if is_part_of(m, "minitrpo") and file_of(m)} - {"__init__"}


ROOMS = [file for file in (*FILES, *SCRIPTS) if file.name != "__init__.py"]


@pytest.mark.parametrize("file", ROOMS, ids=name_of)
def test_no_file_imports_one_above_it(file):
    name = name_of(file)
    above = {other for other in arrows(file) if floor(other) > floor(name)}
    assert not above, f"{name} imports from above: {above}"


def test_nothing_imports_in_a_circle():
    graph, done = {name_of(file): arrows(file) for file in ROOMS}, set()
    while len(done) < len(graph):
        free = {name for name in graph.keys() - done if graph[name] & graph.keys() <= done}
        assert free, f"a circle among {sorted(graph.keys() - done)}"
        done |= free


def mathematics():
    return [file for file in FILES if file.parent.name == "minitrpo" and file.stem not in (*VISITORS, "__main__")]


@pytest.mark.parametrize("file", mathematics(), ids=name_of)
def test_the_mathematics_needs_numpy_scipy_and_autograd_alone(file):
    own = {file.stem for file in mathematics()}
    for module in imports(file):
        top, _, rest = module.partition(".")
        allowed = rest in own if top == "minitrpo" else top in {"numpy", "scipy", "autograd"} | sys.stdlib_module_names
        assert allowed, f"{file.name} imports {module}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_what_is_heavy_is_imported_where_it_is_used(file):
    heavy = {"matplotlib", "mpi4py", "imageio", "IPython", "ipywidgets", "jupyter", "pygame"}
    tops = {module.partition(".")[0] for module in imports(file, outside_of_functions=True)}
    assert not tops & heavy


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("minitrpo.trpo, minitrpo.critics, minitrpo.adaptive, minitrpo.returns", "gymnasium mujoco mpi4py matplotlib"),
        ("minitrpo.runs.barrier", "matplotlib mpi4py jupyter IPython notebook ipywidgets imageio"),
    ],
)
def test_importing_brings_nothing_unasked(module, unwanted):
    code = f"import sys, {module}; print([name for name in {unwanted.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


# --- a family of algorithms


def names_of_algorithms():
    """Return {name: words that stand for it}: what it is called on the command line, and its class."""
    return {name: (name, place.partition(":")[2]) for name, place in ALGORITHMS.items()}


def wings():
    """Return the files that serve all algorithms alike: everything but the mathematics and the checks of exercises."""
    inside = [f for f in FILES if f not in mathematics() and f.parent.name != "checks"]
    return [*inside, *SCRIPTS]


@pytest.mark.parametrize("file", [f for f in wings() if name_of(f) != "algorithms.registry"], ids=name_of)
def test_no_file_but_the_registry_and_its_own_module_names_an_algorithm(file):
    words = [
        word
        for name, both in names_of_algorithms().items()
        for word in both
        if not is_part_of(f"minitrpo.{name_of(file).replace('_settings', '')}", ALGORITHMS[name].partition(":")[0])
    ]
    found = re.findall(rf"\b({'|'.join(words)})\b", file.read_text()) if words else []
    assert not found, f"{name_of(file)} names {found[0]}"


def test_every_algorithm_is_a_module_and_a_line():
    for name, place in ALGORITHMS.items():
        assert re.fullmatch(r"minitrpo\.algorithms\.\w+:\w+", place)
        load(name, set())


def test_the_loops_import_no_member_of_the_family():
    members = {place.partition(":")[0] for place in ALGORITHMS.values()}
    for file in wings():
        own = f"minitrpo.{name_of(file)}"
        assert own in members or not imports(file) & members, f"{file} imports a member of the family"


def test_how_experience_is_requested_is_asked_in_one_place():
    asking = [name_of(f) for f in FILES if re.search(r"\.requests\b *[=!]=", f.read_text())]
    assert asking == ["runs.actor"]


def test_a_script_is_two_lines():
    for file in SCRIPTS:
        code = [node for node in ast.parse(file.read_text()).body if not isinstance(node, ast.Expr)]
        assert len(code) == 2, f"{file.name}: what it does belongs into minitrpo/commands"


@pytest.mark.parametrize("file", LECTURES, ids=lambda file: file.stem)
def test_a_lecture_needs_no_private_name(file):
    assert not re.findall(r"from minitrpo[\w.]* import .*\b_\w+", file.read_text())


# Words of this project's own that the field has a better one for; README says what a slot and a fragment are
DIALECT = (
    *("Lesson", "Improver", "TeamShares", "MPIRanks", "Board", "LaneFailed", "LaneNoise", "LaneSnapshot"),
    *("lane", "lanes", "at_once", "Knobs", "knob", "knobs", "OneVoice", "thrice"),
)


@pytest.mark.parametrize("file", [*FILES, *SCRIPTS, *LECTURES, ROOT / "README.md"], ids=lambda file: file.stem)
def test_the_words_are_the_fields_own(file):
    found = re.findall(rf"\b({'|'.join(DIALECT)})\b", file.read_text())
    exempt = {"--lanes"} if name_of(file) == "runs.command_line" else set()  # says what became of the option
    assert not found or exempt, f"{file.name}: {sorted(set(found))}"


# --- sizes


def lines(file):
    return file.read_bytes().count(b"\n")  # what `wc -l` counts


def functions(file):
    """Return (name, lines) of every function and method of a file."""
    nodes = [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.name, node.end_lineno - node.lineno + 1) for node in nodes]


@pytest.mark.parametrize("file", [*FILES, *SCRIPTS], ids=name_of)
def test_a_function_fits_on_a_screen_and_a_module_in_a_lecture(file):
    assert [(name, size) for name, size in functions(file) if size > 40] == []
    assert lines(file) <= (600 if file.parent.name == "checks" else 220)  # a lecture's checks are a list of cases


def test_most_functions_are_short():
    sizes = sorted(size for file in FILES for _, size in functions(file))
    assert sizes[len(sizes) // 2] <= 10
    assert sizes[len(sizes) * 9 // 10] <= 20


def test_the_trpo_path_is_short_and_readme_says_how_short():
    total = sum(lines(ROOT / "minitrpo" / f"{name}.py") for name in TRPO_PATH)
    assert total < 700
    readme = " ".join((ROOT / "README.md").read_text().split())
    told = (
        r"TRPO path is (\d+) lines",
        r"network under it is (\d+)",
        r"sums over blocks are (\d+)",
        r"critics are (\d+)",
    )
    said = [int(found.group(1)) if (found := re.search(words, readme)) else None for words in told]
    assert said == [
        total,
        *(lines(ROOT / "minitrpo" / f"{name}.py") for name in ("perceptron", "block_sums", "critics")),
    ]
