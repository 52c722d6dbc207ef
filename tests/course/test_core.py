"""A student's own functions train: `minitrpo core` collects those that pass, and `train --core` takes them."""

import json
import shutil

import numpy as np
import pytest
from autograd import grad
from runs import ROOT, run, train

import minitrpo.course.classroom  # noqa: F401 - one thread
from minitrpo.core import BY_AUTOGRAD, BY_HAND, load_core
from minitrpo.course.core import LECTURES, global_names, renamed, your_core
from minitrpo.errors import AlgorithmFailed, BadInput
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.run_folder.folder import RunFolder
from minitrpo.trpo import Batch

JOB = ("--env", "CartPole-v1", "--hidden", 8, "--steps-per-update", 300, "--total-steps", 900, "--adapt", "both")
JOB = (*JOB, "--adapt-window", 1)


def notebook(lecture, *cells):
    """Return a notebook of a lecture; a cell is a text, or (exercise, text)."""
    pairs = [cell if isinstance(cell, tuple) else ("", cell) for cell in cells]
    made = [
        {
            "cell_type": "code",
            "metadata": {"exercise": name} if name else {},
            "source": text,
            "outputs": [],
            "id": str(i),
        }
        for i, (name, text) in enumerate(pairs)
    ]
    return {"cells": made, "metadata": {"minitrpo": {"lecture": lecture}}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture
def my(tmp_path):
    """A folder of a student's, with one notebook: two functions are right, one is wrong, one is not attempted."""
    folder = tmp_path / "my"
    folder.mkdir()
    cells = (
        "%matplotlib inline\nimport numpy as np\nfrom minitrpo.advantages import discounted_sums\nvalues = 1",
        "def last_of(last, t):\n    return bool(last[t])",
        (
            "next_values",
            "def next_values(values, final_values, last, terminated):\n"
            "    after = np.append(values[1:], 0.0)\n"
            "    after[last] = final_values\n"
            "    return np.where(terminated, 0.0, after)",
        ),
        (
            "gae",
            "def gae(rewards, values, next_values, last, discount, gae_lambda):\n"
            "    errors, advantages = rewards + discount * next_values - values, np.zeros(len(rewards))\n"
            "    total = 0.0\n"
            "    for t in reversed(range(len(rewards))):\n"
            "        total = errors[t] + (0.0 if last_of(last, t) else discount * gae_lambda * total)\n"
            "        advantages[t] = total\n"
            "    return advantages, advantages + values",
        ),
        ("explained_variance", "def explained_variance(predicted, targets):\n    return 0.5"),
    )
    (folder / "05a_advantages.ipynb").write_text(json.dumps(notebook("05a_advantages", *cells)))
    return folder


def test_only_what_passes_is_collected_with_what_it_uses(my, tmp_path):
    done = run("core", "my", cwd=tmp_path)
    assert done.code == 0, done.err
    core = load_core(my)
    assert core.lectures == {"next_values": "05a", "gae": "05a"}
    text = (my / "core.py").read_text()
    assert "def last_of" in text
    assert "explained_variance" not in text
    assert "values = 1" not in text, "an argument is not a name of the notebook"


def test_a_notebook_collects_its_own_folder_and_leaves_it_as_it_is(my, tmp_path, capsys):
    before = sorted(my.iterdir())
    core = your_core(my)
    assert load_core(core).lectures == {"next_values": "05a", "gae": "05a"}
    assert "explained_variance" in capsys.readouterr().out, "what is left out is named, too"
    assert sorted(my.iterdir()) == before
    (tmp_path / "nothing").mkdir()
    assert your_core(tmp_path / "nothing") is None
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_core_that_was_changed_by_hand_is_kept(my, tmp_path):
    run("core", "my", cwd=tmp_path)
    file = my / "core.py"
    file.write_text(file.read_text() + "\n# mine\n")
    changed = file.read_text()
    run("core", "my", cwd=tmp_path)
    assert (my / "core_1.py").read_text() == changed
    run("core", "my", cwd=tmp_path)
    assert not (my / "core_2.py").exists(), "what the command wrote itself is replaced"


@pytest.mark.mpi
def test_right_functions_train_to_the_same_bits_on_any_number_of_ranks(my, tmp_path):
    """These two round as the package's do, so that even the package's own bits come out."""
    run("core", "my", cwd=tmp_path)
    ours = train(tmp_path / "ours", *JOB).sha256
    theirs = [train(tmp_path / f"{n}", *JOB, "--core", "my", ranks=n, cwd=tmp_path).sha256 for n in (0, 2, 3)]
    assert set(theirs) == {ours}
    record = RunFolder(tmp_path / "2").read_config()["provenance"]["core"]
    assert record["functions"] == {"next_values": "05a", "gae": "05a"}


@pytest.mark.mpi
def test_the_solutions_train_as_the_taught_functions_do(tmp_path):
    (tmp_path / "my").mkdir()
    for lecture in LECTURES:
        [solution] = ROOT.glob(f"notebooks/solutions/{lecture}_*.ipynb")
        shutil.copy(solution, tmp_path / "my")
    done = run("core", "my", cwd=tmp_path)
    assert "left out" not in done.out, done.out
    taught = train(tmp_path / "taught", *JOB, "--derivatives", "autograd").sha256
    assert train(tmp_path / "core", *JOB, "--core", "my", ranks=2, cwd=tmp_path).sha256 == taught


def test_a_function_that_raises_is_named_with_its_lecture(tmp_path):
    (tmp_path / "my").mkdir()
    (tmp_path / "my/core.py").write_text(
        "LECTURES = {'fisher_vector_product': '02'}\n"
        "def fisher_vector_product(policy, theta, observations, damping):\n"
        "    return lambda v: missing * v\n"
    )
    core = load_core(tmp_path / "my").core
    with pytest.raises(AlgorithmFailed, match=r"fisher_vector_product .*lecture 02"):
        core.fisher_vector_product(None, None, None, 0.0)(1.0)
    done = run("train.py", *JOB, "--core", "my", "--progress", "none", cwd=tmp_path)
    assert done.code == 1
    assert all(word in done.err for word in ("fisher_vector_product", "02", "missing", "--core my"))


@pytest.mark.parametrize("text", [None, "", "import nothing_of_that_name", "def gae(:", "x = 1"])
def test_a_core_that_cannot_be_used_is_refused_before_any_work(text, tmp_path):
    (tmp_path / "my").mkdir()
    if text is not None:
        (tmp_path / "my/core.py").write_text(text)
    done = run("train.py", *JOB, "--core", "my", "--out", "run", cwd=tmp_path)
    assert (done.code, (tmp_path / "run").exists()) == (2, False), done.out + done.err
    with pytest.raises(BadInput):
        load_core(tmp_path / "my")


def test_a_run_folder_alone_runs_no_code_of_a_core(my, tmp_path):
    run("core", "my", cwd=tmp_path)
    train(tmp_path / "run", *JOB, "--core", "my", cwd=tmp_path)
    (my / "core.py").write_text("raise SystemExit(99)\n")
    assert run("train.py", "--resume", "run", "--total-steps", 1500, cwd=tmp_path, new=True).code == 2
    assert run("evaluate", "run", cwd=tmp_path, new=True).code == 0, "to act takes no function of the update"


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (6,)), CategoricalPolicy(3, 2, (6,))])
def test_a_step_by_autograd_is_the_step_by_hand_up_to_rounding(policy):
    rng = np.random.default_rng(0)
    theta, observations = policy.initialise(rng), rng.standard_normal((60, 3)).astype(np.float32)
    actions = policy.act_function(theta)(observations.astype(float), policy.draw_noise(rng, 60), 60)
    advantages = rng.standard_normal(60)
    steps = [
        core.step(policy, theta, Batch(observations, actions, advantages), 0.01)[0] - theta
        for core in (BY_HAND, BY_AUTOGRAD)
    ]
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-3, atol=1e-4)


def test_formulas_of_the_policy_are_the_cores(tmp_path):
    """A log_prob of a student's replaces the package's, and autograd takes its derivatives."""
    (tmp_path / "core.py").write_text(
        "import autograd.numpy as np\n"
        "def gaussian_log_prob(mean, log_std, actions):\n"
        "    return 2 * np.sum(-0.5 * ((actions - mean) / np.exp(log_std)) ** 2 - log_std, axis=1)\n"
    )
    core, policy = load_core(tmp_path).core, GaussianPolicy(3, 2, (6,))
    theta, rng = policy.initialise(np.random.default_rng(1)), np.random.default_rng(2)
    observations, actions, advantages = (rng.standard_normal(shape) for shape in ((20, 3), (20, 2), 20))
    students = core.policy(policy)

    def weighted(theta):
        log_prob = students.log_prob(students.distribution(theta, observations), actions)
        return (log_prob * advantages).sum() / 20

    g = core.policy_gradient(students, theta, observations, actions, advantages)
    np.testing.assert_allclose(g, grad(weighted)(theta), rtol=1e-9, atol=1e-12)
    by_package = core.policy_gradient(policy, theta, observations, actions, advantages)
    np.testing.assert_allclose(g, 2 * by_package, rtol=1e-9, atol=1e-12)


def test_names_are_told_apart():
    source = "def f(x, g=h):\n    np, y = x, m.np\n    return [k(z) for z in y] + [np.np]"
    assert global_names(source) == {"h", "m", "k"}
    assert renamed("é = np.sum(np.array([1]))  # np", "np", "anp") == "é = anp.sum(anp.array([1]))  # np"
