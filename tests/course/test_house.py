"""The house keeps its rules: arrows run one way, the mathematics stays pure, and everything fits on a screen."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import run

from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.run_folder.folder import RunFolder

ROOT = Path(__file__).parents[2]
CHANGING = {"EpisodeFailed", "Outcome", "Ending"}  # records that do not stay as they were made
FILES = sorted((ROOT / "minitrpo").rglob("*.py"))
SCRIPTS = sorted((ROOT / "mpi_scripts").glob("*.py"))
LECTURES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
TRPO_PATH = (
    *("policies", "returns", "policy_gradient", "natural_gradient"),
    *("conjugate_gradient", "line_search", "trpo", "adaptive"),
)
VISITORS = (
    "doctor",
    "checks",
    "contract",
    "library",
)  # in the root for their names; they serve no lecture's mathematics

# From the ground up; a file may import from its own floor and from those below. First match counts.
FLOORS = (
    ("errors", "perceptron"),
    ("acting",),
    ("policies", "block_sums", "optimisers"),
    (
        *("returns", "critics", "policy_gradient", "natural_gradient", "conjugate_gradient", "line_search", "adaptive"),
        "log_probability",
    ),
    ("trpo",),
    ("noise",),
    ("parallel",),
    ("supervision",),
    ("experience",),
    ("algorithms",),
    ("contract",),
    ("run_folder",),
    ("training",),
    ("reports",),
    ("commands", "doctor"),
    ("library",),
    ("course", "checks"),
    ("__main__",),
    ("mpi_scripts",),
)


def name_of(file):
    """Return "experience.filters" for minitrpo/experience/observation_filter.py, "mpi_scripts.train" for a script."""
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
    return [
        file
        for file in FILES
        if file.parent.name == "minitrpo" and file.stem not in (*VISITORS, "__main__", "__init__")
    ]


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
        ("minitrpo", "numpy scipy gymnasium mujoco mpi4py matplotlib"),
        ("minitrpo.training.synchronous", "matplotlib mpi4py jupyter IPython notebook ipywidgets imageio"),
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
    """Return the files that serve all algorithms alike: everything but the mathematics and the course."""
    outside = [*mathematics(), ROOT / "minitrpo" / "__init__.py"]  # the page of the house may name what it is for
    inside = [f for f in FILES if f not in outside and not is_part_of(name_of(f), "course")]
    return [*inside, *SCRIPTS]


@pytest.mark.parametrize("file", [f for f in wings() if name_of(f) != "algorithms.registry"], ids=name_of)
def test_no_file_but_the_registry_and_its_own_module_names_an_algorithm(file):
    words = [
        word
        for name, both in names_of_algorithms().items()
        for word in both
        if not is_part_of(ALGORITHMS[name].partition(":")[0], f"minitrpo.{name_of(file).removesuffix('.__init__')}")
    ]
    found = re.findall(rf"\b({'|'.join(words)})\b", file.read_text()) if words else []
    assert not found, f"{name_of(file)} names {found[0]}"


def test_every_algorithm_is_a_module_and_a_line():
    for name, place in ALGORITHMS.items():
        assert re.fullmatch(r"minitrpo\.algorithms\.[\w.]+:\w+", place)
        find(name)


def test_the_loops_import_no_member_of_the_family():
    members = {place.partition(":")[0] for place in ALGORITHMS.values()}
    for file in wings():
        own = f"minitrpo.{name_of(file)}"
        assert own in members or not imports(file) & members, f"{file} imports a member of the family"


def test_how_experience_is_requested_is_asked_in_one_place():
    asking = [name_of(f) for f in FILES if re.search(r"\.requests\b *[=!]=", f.read_text())]
    assert asking == ["training.settings"]


def test_a_script_is_two_lines():
    for file in SCRIPTS:
        code = [node for node in ast.parse(file.read_text()).body if not isinstance(node, ast.Expr)]
        assert len(code) == 2, f"{file.name}: what it does belongs into minitrpo/commands"


@pytest.mark.parametrize("file", LECTURES, ids=lambda file: file.stem)
def test_a_lecture_needs_no_private_name(file):
    assert not re.findall(r"from minitrpo[\w.]* import .*\b_\w+", file.read_text())


OUTSIDE = [*LECTURES, *(f for room in ("notebooks/recorded", "benchmarks") for f in sorted((ROOT / room).glob("*.py")))]


@pytest.mark.parametrize("file", OUTSIDE, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_lectures_and_benchmarks_import_is_there(file):
    code = "\n".join(line for line in file.read_text().split("\n") if not line.startswith(("%", "!")))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and is_part_of(node.module, "minitrpo"):
            module = importlib.import_module(node.module)
            missing = [
                a.name for a in node.names if not (hasattr(module, a.name) or file_of(f"{node.module}.{a.name}"))
            ]
            assert not missing, f"{node.module} has no {missing[0]}"


def test_tests_that_the_pages_name_are_there():
    tests = {file.name: file.read_text() for file in (ROOT / "tests").glob("test_*.py")}
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for file, name in re.findall(r"(test_\w+\.py)(?:::(test_\w+))?", page.read_text()):
            assert file in tests, f"{page.name}: there is no {file}"
            assert f"def {name}" in tests[file], f"{page.name}: {file} has no {name}"


# Words of this project's own that the field has a better one for; docs/own-algorithm.md says what a fragment is
DIALECT = (
    *("Lesson", "Improver", "TeamShares", "MPIRanks", "Board", "LaneFailed", "LaneNoise", "LaneSnapshot"),
    *("lane", "lanes", "at_once", "Knobs", "knob", "knobs", "OneVoice", "thrice"),
)


PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@pytest.mark.parametrize("file", [*FILES, *SCRIPTS, *LECTURES, *PAGES], ids=lambda file: file.stem)
def test_the_words_are_the_fields_own(file):
    found = re.findall(rf"\b({'|'.join(DIALECT)})\b", file.read_text())
    assert not found, f"{file.name}: {sorted(set(found))}"


# --- depth


def test_an_algorithm_learns_under_twelve_frames(tmp_path):
    job = ("--algorithm", "hostile_algorithms:Deep", "--env", "CartPole-v1", "--total-steps", 100, "--hidden", "4")
    done = run("train.py", *job, "--out", tmp_path / "run", "--progress", "none", new=True)
    assert done.code == 0, done.err
    assert 0 < RunFolder(tmp_path / "run").columns()["frames"].max() <= 12


# --- a member opens with its paper's box, and says where each line of it runs


def members():
    """Return the files of the family's members."""
    modules = {place.partition(":")[0] for place in ALGORITHMS.values()}
    return [file_of(module) for module in sorted(modules)]


@pytest.mark.parametrize("file", members(), ids=name_of)
def test_a_member_opens_with_where_each_line_of_its_box_runs(file):
    text = ast.get_docstring(ast.parse(file.read_text()))
    steps = re.findall(r"^ *(\d)\. (.*)$", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 5 <= len(steps) <= 6
    for _, step in steps:
        place = re.search(r"([\w/]+\.py): ([\w., ]+)$", step)
        assert place, f"{file.name}: where does this run? {step}"
        tree = ast.parse((ROOT / "minitrpo" / place.group(1)).read_text())
        for name in place.group(2).split(", "):
            assert is_in(tree.body, name.split(".")), f"{file.name}: {place.group(1)} has no {name}"


def is_in(body, names):
    """Return whether a function or class of this name (Class, method) is defined here."""
    found = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == names[0]]
    return bool(found) and (len(names) == 1 or is_in(found[0].body, names[1:]))


# --- the small core: what runs here knows nothing of ranks, faults or checks

CORE = {
    "trpo": ("trpo_step",),
    "algorithms.batch_ppo": ("Ascent",),
    "algorithms.actor_critic.loss": ("bootstrapped_returns", "loss_gradient", "actor_critic_gradient"),
    "parallel.parameter_server": ("ParameterServer", "work_through"),
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_record_stays_as_it_was_made(file):
    for record in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)):
        for decorator in map(ast.unparse, record.decorator_list):
            if decorator.startswith("dataclass"):
                assert decorator == "dataclass(frozen=True)" or record.name in CHANGING, record.name


@pytest.mark.parametrize("name", CORE)
def test_the_small_core_knows_no_communication_no_faults_no_checks(name):
    tree = ast.parse((ROOT / "minitrpo" / f"{name.replace('.', '/')}.py").read_text())
    outside = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and any(is_part_of(node.module, f"minitrpo.{room}") for room in ("parallel.comm", "supervision", "contract"))
        for alias in node.names
    }
    for wanted in CORE[name]:
        node = next(n for n in tree.body if getattr(n, "name", None) == wanted)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        assert not used & outside, f"{name}: {wanted} uses {used & outside}"


# --- sizes


def lines(file):
    return file.read_bytes().count(b"\n")  # what `wc -l` counts


def functions(file):
    """Return (name, lines) of every function and method of a file."""
    nodes = [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.name, node.end_lineno - node.lineno + 1) for node in nodes]


# One thought is not cut in two: a loop, a contract; and a lecture's checks are a list of cases
LONG = {"course.checks": 600, "algorithms": 300, "contract": 300}
LONG |= {"experience.rollouts": 240, "supervision.watchdog": 240, "experience.environments": 230}


@pytest.mark.parametrize("file", [*FILES, *SCRIPTS], ids=name_of)
def test_a_function_fits_on_a_screen_and_a_module_in_a_lecture(file):
    assert [(name, size) for name, size in functions(file) if size > 40] == []
    assert lines(file) <= next((most for room, most in LONG.items() if is_part_of(name_of(file), room)), 220)


def test_most_functions_are_short():
    sizes = sorted(size for file in FILES for _, size in functions(file))
    assert sizes[len(sizes) // 2] <= 10
    assert sizes[len(sizes) * 9 // 10] <= 20


def test_the_trpo_path_is_short_and_its_page_says_how_short():
    total = sum(lines(ROOT / "minitrpo" / f"{name}.py") for name in TRPO_PATH)
    assert total < 700
    page = " ".join((ROOT / "docs" / "house.md").read_text().split())
    told = (
        r"TRPO path is (\d+) lines",
        r"network under it is (\d+)",
        r"sums over blocks are (\d+)",
        r"critics are (\d+)",
    )
    said = [int(found.group(1)) if (found := re.search(words, page)) else None for words in told]
    assert said == [
        total,
        *(lines(ROOT / "minitrpo" / f"{name}.py") for name in ("perceptron", "block_sums", "critics")),
    ]
