"""Predictions for many ranks: what they are made of adds up, follows closed forms, and is never better than ideal."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("simpy")

from runs import ROOT, run

from minitrpo.course.scaling import measuring, page
from minitrpo.course.scaling import recorded as recorded_runs
from minitrpo.course.scaling.checking import Row, report, runs
from minitrpo.course.scaling.command import main
from minitrpo.course.scaling.designs import BEFORE, MENDED, SET, TODAY, Design, Machine
from minitrpo.course.scaling.events import push
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import PARTS, Inputs, Line, Messages, Task, fitted, load, save, task_from
from minitrpo.course.scaling.model import iteration
from minitrpo.course.scaling.others import evolution, served
from minitrpo.course.scaling.predict import RANKS, Job, alone_seconds, best_batch, breaks, predicted, table
from minitrpo.errors import BadInput
from minitrpo.supervision.jobs import mpiexec

QUICK = settings(max_examples=25, deadline=None)
FREE = Network(0.0, 0.0)
LINES = {
    "tick": Line(1e-4, 3e-5),
    "digest": Line(0.0, 1e-6),
    "order": Line(0.0, 1e-7),
    "rest": Line(1e-4, 0.0),
    "advantages": Line(0.0, 3e-7),
    "gradient": Line(1e-4, 2e-6),
    "product": Line(1e-4, 2e-7),
    "trial": Line(0.0, 6e-7),
    "critic": Line(0.0, 7e-6),
}
COSTS = {"apply": 2e-5, "noise": 1e-4, "trials": 1.0, "shared_slowdown": 1.0}
SIZES = {"parameters": 5000, "step_bytes": 120.0, "root_bytes": 20.0, "noise_scale": 5e4, "lengths": np.full(100, 50)}
TASK = Task("Toy-v0", **LINES, **COSTS, **SIZES)
MESSAGES = Messages(FREE, 0.0, 0.0, 0.0, 1.0, 1e-3, 1e-2)
TOY = Inputs({"Toy-v0": TASK}, MESSAGES, {"cores": 2, "machine": "Linux x86_64, a toy", "date": "2026-11-23"})
IDEAL = Machine(FREE)


def test_one_rank_is_the_sum_of_its_parts():
    one = iteration(TOY, TASK, IDEAL, Design(), 1, 10_000)
    playing = 10_000 / 16 * TASK.tick(16)
    ticks = 12 * 50 * TASK.tick(16) + 50 * TASK.tick(8)  # 200 episodes, 16 at a time: the last round has 8
    learning = 3e-3 + 1e-4 + 0.0201 + 10 * 0.0021 + 0.006 + 0.07
    assert one.ideal == pytest.approx(playing)
    assert one.seconds == pytest.approx(ticks + 0.01 + 1e-3 + learning, rel=0.02)


@given(st.integers(1, 64), st.sampled_from(["root", "sharded"]), st.sampled_from(["dynamic", "static"]))
@QUICK
def test_nothing_is_faster_than_the_ideal_and_every_part_is_there(ranks, learner, pool):
    one = iteration(TOY, TASK, IDEAL, Design(learner, pool), ranks, 10_000)
    assert all(seconds >= -1e-12 for _, seconds in one.parts())
    assert one.seconds >= iteration(TOY, TASK, IDEAL, Design(), 1, 10_000).ideal / ranks


@given(
    st.sampled_from(RANKS[:5]),
    st.floats(0, 1e-4),
    st.floats(0, 1e-4),
    st.sampled_from([Design(), BEFORE, TODAY, SET, MENDED]),
)
@QUICK
def test_a_slower_network_never_helps(ranks, latency, more, design):
    quick, slow = (
        iteration(TOY, TASK, Machine(Network(each, 1e-10)), design, ranks, 20_000) for each in (latency, latency + more)
    )
    for part in ("broadcast", "gather", "spread", "sums"):
        assert getattr(slow, part) >= getattr(quick, part) - 1e-12


def test_ranks_that_wait_for_the_root_follow_amdahl():
    """Free messages, episodes of one length that divide evenly, lockstep of one width: only the root is serial."""
    task = replace(TASK, tick=Line(0.0, 1e-4), digest=Line(0.0, 0.0))
    one, several = (iteration(TOY, task, IDEAL, Design(), ranks, 100 * 50 * 16) for ranks in (1, 50))
    serial = one.seconds - one.ideal
    assert several.seconds == pytest.approx(serial + one.ideal / 50, rel=1e-6)


def test_episodes_that_are_fewer_than_ranks_leave_the_others_idle():
    few = [iteration(TOY, TASK, IDEAL, Design(), ranks, 1_000) for ranks in (20, 2000)]
    assert few[1].ideal + few[1].narrow + few[1].wait == pytest.approx(50 * TASK.tick(1))
    assert few[0].seconds == pytest.approx(few[1].seconds, rel=0.02)


def test_a_machine_with_fewer_cores_takes_longer_by_their_number():
    crowded = iteration(TOY, TASK, Machine(FREE, cores=2), Design(), 4, 10_000)
    roomy = iteration(TOY, TASK, IDEAL, Design(), 4, 10_000)
    assert crowded.ideal == pytest.approx(2 * roomy.ideal)


def test_slow_ranks_and_failures_cost_something():
    job = Job(TASK, 1e6, 50_000)
    quick = predicted(TOY, job, IDEAL, TODAY, 64)
    assert predicted(TOY, job, Machine(FREE, slow=0.1), TODAY, 64).seconds > quick.seconds
    assert predicted(TOY, job, Machine(FREE, pauses=1.0), TODAY, 64).seconds > quick.seconds
    failing = predicted(TOY, job, Machine(FREE, failures=64 * 100.0), TODAY, 64)
    assert failing.seconds > quick.seconds * 1.1
    assert predicted(TOY, job, Machine(FREE, failures=64 * 1e7), TODAY, 64).seconds == pytest.approx(
        quick.seconds, 0.02
    )


def test_a_table_has_its_dollars_and_efficiency_from_its_seconds():
    job = Job(TASK, 1e6, 50_000, price=0.5)
    rows = [predicted(TOY, job, Machine(Network(2e-6, 1e-10)), TODAY, ranks) for ranks in (1, 64)]
    for row in rows:
        assert row.updates == 20
        assert row.dollars == pytest.approx(0.5 * row.ranks * row.seconds / 3600)
        assert row.efficiency == pytest.approx(alone_seconds(TOY, job, IDEAL) / row.ranks / row.seconds, rel=1e-6)
        name, share = row.bottleneck
        costs = {**dict(row.one.parts()), "start": row.start / row.updates}
        assert costs[name] == max(seconds for part, seconds in costs.items() if part != "ideal")
        assert share * row.seconds == pytest.approx(20 * costs[name])
    assert rows[0].efficiency == pytest.approx(1)
    assert len(table(rows)) == 3


def test_a_batch_grows_only_as_far_as_the_noise_pays():
    quiet, loud = (Job(replace(TASK, noise_scale=noise), 1e6, 50_000) for noise in (1e3, 1e9))
    assert best_batch(TOY, quiet, IDEAL, MENDED, 4096).batch <= 50_000
    larger = best_batch(TOY, loud, IDEAL, MENDED, 4096)
    assert larger.batch >= 400_000
    assert larger.seconds <= predicted(TOY, loud, IDEAL, MENDED, 4096).seconds


def test_what_breaks_first_by_hand():
    """A gather of one message after another, a microsecond each, beside a second of everything else."""
    machine = Machine(Network(1e-5, 0.0))
    task = replace(TASK, order=Line(0.0, 0.0), rest=Line(0.0, 1e-7))
    found = breaks(TOY, task, machine, 1000, memory=3 * 20_000 * 777, updates=20)
    assert found["memory of rank 0"] == pytest.approx(777)
    assert found["arithmetic of rank 0"] < 1000, "it grows with the batch, and the rest does not"
    assert list(found.values()) == sorted(found.values())
    assert breaks(TOY, TASK, IDEAL, 1000, 1e99, 20)["the pool's one counter"] == math.inf


@pytest.mark.parametrize("ranks", [2, 64, 4096])
def test_what_was_mended_is_cheaper_and_the_rest_as_it_was(ranks):
    """More steps than the tree's 32 blocks; messages with a latency, and bytes that cost something."""
    machine, steps = Machine(Network(2e-6, 1e-9)), max(60_000, 1000 * ranks)
    before, now, as_set = (iteration(TOY, TASK, machine, design, ranks, steps) for design in (BEFORE, TODAY, SET))
    assert now.gather < 0.3 * before.gather
    assert now.root < 0.1 * before.root
    assert now.spread < before.spread
    assert (now.ideal, now.wait, now.digest) == (before.ideal, before.wait, before.digest)
    assert (as_set.wait, as_set.counter, as_set.ideal) == (0, 0, now.ideal)
    assert as_set.critic <= now.critic * 1.01
    if ranks > 1000:
        assert now.sums < 0.2 * before.sums


# --- other designs


def test_a_server_serves_up_to_its_limit_and_shards_move_it():
    few, many = (served(TASK, IDEAL, ranks) for ranks in (2, 100_000))
    work = 20 * TASK.tick(1) + TASK.gradient(20)
    assert few.steps == pytest.approx(2 * 20 / (work + TASK.apply), rel=0.01)
    assert many.steps == pytest.approx(many.limit) == pytest.approx(20 / TASK.apply)
    assert served(TASK, IDEAL, 100_000, 16).limit == pytest.approx(16 * many.limit)


@pytest.mark.parametrize("workers", [2, 9])
def test_on_average_everybody_else_pushes_between_a_pull_and_a_push(workers):
    rng = np.random.default_rng(0)
    pushed = push(rng.exponential(1.0, (workers, 2000)), rng.exponential(0.2, (workers, 2000)))
    assert pushed.staleness.mean() == pytest.approx(served(TASK, IDEAL, workers).staleness, rel=0.02)


def test_a_generation_of_evolution_is_its_longest_share():
    assert evolution(TASK, IDEAL, 10, 100) == pytest.approx(10 * 50 * TASK.tick(1) + 20 * TASK.noise)
    assert evolution(TASK, IDEAL, 1000, 100) == pytest.approx(50 * TASK.tick(1) + 2 * TASK.noise)


# --- what is measured


def test_a_line_through_medians():
    line = fitted({"10": [2.0, 2.0, 9.0], "100": [11.0, 11.0, 11.0]})["line"]
    assert line == pytest.approx([1.0, 0.1])
    assert fitted({"10": [1.0, 1.0], "100": [11.0, 11.0]})["line"][0] == 0, "never negative"


@pytest.fixture(scope="module")
def reacher():
    return measuring.parts("Reacher-v5", 1600, 3)


def test_the_parts_of_an_update_are_measured(reacher):
    task = task_from(reacher | {"shared_slowdown": 1.0})
    assert task.parameters == 4996
    assert set(task.lengths) == {50}
    assert 60 < task.step_bytes < 100
    assert task.step_bytes - task.root_bytes == pytest.approx(4 * 10 + 8 * 2, abs=0.2), "observations and actions"
    assert all(getattr(task, part)(1600) > 0 for part in PARTS)
    assert task.gradient(1600) > task.product(1600) > 0, "a product is over a fifth of the states, in single precision"


@pytest.fixture
def recorded(reacher, tmp_path):
    seconds = {"draw": 1e-5, "exchange": 1e-3, "all_gather": 1e-5, "start": 1.0, "start_each": 1e-3, "checkpoint": 0.01}
    content = {"provenance": TOY.provenance, "tasks": {"Reacher-v5": reacher | {"shared_slowdown": 1.1}}}
    save(tmp_path / "inputs.json", content | {"messages": {"network": [2e-6, 1e-10], "seconds": seconds}})
    return tmp_path / "inputs.json"


def test_recorded_inputs_are_read_again(recorded):
    inputs = load(recorded)
    assert inputs.messages.network == Network(2e-6, 1e-10)
    with pytest.raises(BadInput, match="'Ant-v5' was not measured; there are Reacher-v5"):
        inputs.task("Ant-v5")


def test_messages_between_two_ranks_are_measured():
    from minitrpo.course.scaling import messages

    content = json.loads(mpiexec(2, messages.__file__, 100, 10))
    assert content["ranks"] == 2
    assert 0 < content["network"][0] < 1
    assert content["collectives"]["allreduce"]["8"]["median"] > 0
    assert content["draw"]["median"] < content["exchange"]["median"]


def test_seconds_of_a_busy_machine_are_refused_unless_asked_for():
    with pytest.raises(BadInput, match="other programs use 90 % of the cores"):
        measuring.refuse_if_busy(False, 0.9)
    assert measuring.refuse_if_busy(True, 0.9) == 0.9
    assert measuring.refuse_if_busy(False, 0.1) == 0.1


# --- what is typed


def test_predict_prints_tables_that_say_what_they_are(recorded, capsys):
    words = ["predict", "--env", "Reacher-v5", "--inputs", str(recorded), "--steps-per-update", "20000"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said.count("(simulated, not measured)") == 7
    for ranks in RANKS:
        assert said.count(f"\n{ranks:7,}  ") == 6


BAD = {
    "predict --env Ant-v5": "was not measured",
    "predict --slow 2": "--slow is a fraction",
    "predict --latency -1": "invalid positive value",
    "predict --inputs nowhere.json": "cannot read nowhere.json",
    "measure --env Nothing-v0": "Nothing-v0",
    "nothing": "invalid choice",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_words_are_one_line(words, recorded, capfd):
    given = words.split()
    if given[0] == "predict" and "--inputs" not in given:
        given += ["--inputs", str(recorded)]
    assert main(given) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert BAD[words] in line


def test_a_comparison_says_its_median_error():
    rows = [
        Row("Toy-v0", n, "root", "dynamic", n > 2, p, 1.0, 0.9, 1.1, 0.0) for n, p in ((1, 1.1), (2, 0.8), (3, 2.0))
    ]
    said = report(rows)
    assert "median error, all, 3 configurations: 20 %" in said
    assert "median error, a core for every rank, 2 configurations: 15 %" in said
    assert not any("slow cable" in line for line in said)
    far = Row("Toy-v0, 2 hosts, 1 ms, 100 Mbit/s", 2, "root", "static", False, 1.4, 1.0, 0.9, 1.1, 0.0)
    said = report([*rows, far])
    assert "median error, a core for every rank, 2 configurations: 15 %" in said
    assert "median error, over a slow cable, 1 configurations: 40 %" in said
    several = runs(["a", "b", "c"])
    assert len(several) >= 12
    assert len(set(several)) == len(several)


def test_the_script_is_the_command():
    done = run("scaling.py", "--help", new=True)
    assert done.code == 0
    assert "measure | predict | check" in done.out


# --- what was recorded on quiet machines


def test_one_ranks_recorded_seconds_predict_those_of_several():
    rows = recorded_runs.all_rows()
    assert len({(row.environment.split(",")[0], row.ranks, row.pool) for row in rows}) == 12
    assert np.median([abs(row.error) for row in rows]) < 0.1
    assert max(abs(row.error) for row in rows) < 0.25


def test_four_cores_explain_the_seeds_curve_better_than_five():
    four, five = (np.array([row.error for row in recorded_runs.of_the_seed(cores)]) for cores in (4, 5))
    assert len(four) == 7
    assert np.median(np.abs(four)) < 0.12 < np.median(np.abs(five))


def test_a_page_gets_its_tables_between_their_marks(tmp_path, capfd):
    text = (ROOT / "docs" / "scaling.md").read_text()
    (tmp_path / "page.md").write_text(text)
    assert main(["check", "--recorded", "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == text, "docs/scaling.md shows what is recorded"
    (tmp_path / "other.md").write_text("nothing\n")
    assert main(["check", "--recorded", "--page", str(tmp_path / "other.md")]) == 2
    assert "has no place for it" in capfd.readouterr().err


def test_tables_of_a_page(tmp_path):
    (tmp_path / "page.md").write_text("a\n<!-- predicted -->\nold\n<!-- /predicted -->\nb\n")
    job = Job(TASK, 1e6, 50_000)
    tables = {"as it is": [predicted(TOY, job, IDEAL, TODAY, ranks) for ranks in (1, 100_000)]}
    page.put(tmp_path / "page.md", "predicted", page.of_tables("a job", tables, "made up"))
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("a\n<!-- predicted -->\n**As it is** (simulated)\n")
    assert "| 100,000 | 50,000 | 20 | " in text
    assert text.endswith("*a job: simulated, not measured; inputs made up.*\n<!-- /predicted -->\nb\n")
    columns = {"before": {"gather": 77.4, "counter": 3000.0}, "now": {"counter": math.inf, "gather": 100_001.0}}
    assert page.of_breaks(columns, 1000, "made up")[2:4] == ["| gather | 77 | never |", "| counter | 3,000 | never |"]
