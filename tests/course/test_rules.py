"""The comparison of rules: its runs are what they are called, its scores and tables are right, it goes on."""

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.stats import norm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import rules  # noqa: E402
from benchmarks.record import read_json  # noqa: E402
from benchmarks.rules import ARMS, FIXED, NOISE, RULES, STARTS, STEPS, Run, record, recorded, returns_over_steps  # noqa: E402
from benchmarks.rules_picture import rules_picture  # noqa: E402
from benchmarks.rules_report import (  # noqa: E402
    complete,
    differences,
    ends,
    improvement,
    normalised,
    over_environments,
    over_seconds,
    probability,
    report,
)
from minitrpo.commands.command_line import parse  # noqa: E402
from minitrpo.reports.statistics import difference_interval, mean_interval  # noqa: E402
from minitrpo.supervision.jobs import flags  # noqa: E402

EVERY = [Run(env, rule, start, 0) for env in STEPS for rule in RULES for start in ARMS[rule]]


def test_every_run_has_a_place_of_its_own():
    assert len({run.path for run in EVERY}) == len(EVERY) == len(STEPS) * 17


@pytest.mark.parametrize("env", STEPS)
def test_the_first_fixed_arm_is_the_default(env):
    typed = parse(flags({"env": env, "total_steps": STEPS[env], "seed": 0})).choice().flat()
    arm = parse(flags(Run(env, FIXED, (1, 1), 0).settings)).choice().flat()
    assert arm == typed


def test_the_mean_over_steps_is_that_of_a_curve():
    columns = {
        "env_steps": np.array([100, 200, 300, 400]),
        "episodes": np.array([1, 0, 2, 1]),
        "mean_return": np.array([0.0, np.nan, 20.0, 40.0]),
    }
    # 0 up to step 100, then a line to 20 at 300, then to 40 at 400
    assert np.mean(returns_over_steps(columns, 400)) == pytest.approx((0 * 100 + 10 * 200 + 30 * 100) / 400)


def test_a_recorded_run_is_not_run_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rules, "RESULTS", tmp_path)
    monkeypatch.setitem(rules.STEPS, "CartPole-v1", 3_000)
    run, other = Run("CartPole-v1", NOISE, (1, 1), 0), Run("CartPole-v1", NOISE, (1, 1), 100)
    record(run)
    first = read_json(run.path)
    assert first["settings"]["adapt"] == "noise"
    assert "--adapt noise" in first["provenance"]["command"]
    monkeypatch.setattr(rules, "train", lambda **_: pytest.fail("it is recorded already"))
    record(run)
    other.path.write_text(run.path.read_text().replace('"seed": 0', '"seed": 100'))
    assert {key: list(runs) for key, runs in recorded().items()} == {("CartPole-v1", NOISE, (1, 1)): [0]}
    assert capsys.readouterr().out.count("CartPole-v1_noise_1x1_0.json") == 1
    assert report(recorded()).startswith("no environment")


def made_up(worth):
    """Return runs of all arms, two seeds, and of one arm a third; worth: (rule, start, seed) -> score and end."""
    found = {}
    for rule, starts in ARMS.items():
        for start in starts:
            found["A", rule, start] = {
                seed: {
                    "score": worth(rule, start, seed),
                    "end": worth(rule, start, seed),
                    "curve": [[100, -10.0], [200, worth(rule, start, seed)]],
                    "seconds": [[100, 1.0], [200, 2.0 + seed]],
                }
                for seed in range(3 if rule == FIXED else 2)
            }
    return found


def test_scores_are_normalised_by_fixed_settings_alone_and_over_seeds_that_all_arms_have():
    found = complete(made_up(lambda rule, start, seed: 50.0 if rule == NOISE else 10.0 * (start == (1, 10)) + seed))
    scores = normalised(found)["A"]
    assert {len(values) for values in scores.values()} == {2}
    np.testing.assert_allclose(scores[FIXED, (1, 10)], [20 / 20.5, 21 / 20.5])
    np.testing.assert_allclose(scores[NOISE, (1, 1)], [60 / 20.5] * 2)
    del found["A", NOISE, (10, 1)]
    assert complete(found) == {}


def test_a_score_by_seconds_is_the_mean_over_those_that_the_default_takes():
    run = {"curve": [[100, 0.0], [200, 10.0]], "seconds": [[100, 1.0], [200, 2.0]]}
    assert over_seconds(run, 2.0) == pytest.approx((0.0 * 1 + 5.0 * 1) / 2, abs=0.01)
    assert over_seconds(run, 4.0) == pytest.approx((0.0 * 1 + 5.0 * 1 + 10.0 * 2) / 4, abs=0.01)
    scores = normalised(complete(made_up(lambda rule, start, seed: 10.0)), clock=True)["A"]
    # the default takes 2 and 3 s: over 2.5 s the curve of seed 0 is at -10 for 1 s, rises for 1, and is at 10 for 0.5
    assert scores[NOISE, (1, 1)][0] == pytest.approx(((-10 * 1 + 0 * 1 + 10 * 0.5) / 2.5 + 10) / 20, abs=0.01)
    assert scores[NOISE, (1, 1)][1] < scores[NOISE, (1, 1)][0]


def test_who_ends_below_the_best_fixed_setting_is_named():
    worth = {FIXED: 10.0, NOISE: 10.0}
    found = complete(made_up(lambda rule, start, seed: worth.get(rule, 0.0) - 9 * (start == (10, 1)) + 0.1 * seed))
    row = ends(found).splitlines()[-1]
    assert row.count("below") == 1
    assert row.split(" | ")[4].endswith(", below")


def test_a_mean_over_environments_spreads_as_means_of_seeds_that_have_nothing_to_do_with_each_other_do():
    np.testing.assert_array_equal(over_environments([np.array([0.0, 2.0, 9.0]), np.array([4.0, 4.0])]), [2.0, 3.0])
    rng = np.random.default_rng(0)
    many = [mean_interval(over_environments(list(rng.standard_normal((8, 10))))) for _ in range(400)]
    assert np.mean([low <= 0 <= high for _, low, high in many]) == pytest.approx(0.95, abs=0.04)


def test_differences_are_of_the_new_rule_and_of_starts_that_are_alike():
    score = {(NOISE, (1, 1)): 0.0, (FIXED, (1, 1)): 10.0}
    found = complete(made_up(lambda rule, start, seed: score.get((rule, start), 4.0 * (rule == NOISE)) + 0.1 * seed))
    right, fixed, published = (cell.strip() for cell in differences(normalised(found)).splitlines()[-1].split("|")[2:5])
    scale = 10.0 + 0.05 + 10.0  # of the best fixed setting's mean over -10
    assert right == f"{difference_interval(np.array([0.0, 0.1]) / scale, np.array([10.0, 10.1]) / scale):.2f}"
    above = difference_interval(np.array([4.0, 4.1]) / scale, np.array([0.0, 0.1]) / scale)
    assert fixed == published == f"{above:.2f}"


def test_the_probability_of_improvement_counts_pairs():
    assert probability(np.array([1.0, 3.0]), np.array([2.0, 0.0])) == 0.75
    assert probability(np.array([1.0]), np.array([1.0])) == 0.5
    middle, (_, low, high), both = improvement([[(np.arange(5.0), np.arange(5.0) + 0.0)]])
    assert middle == 0.5
    assert low < 0.3
    assert high > 0.7
    assert both == pytest.approx((0.5, low, high), abs=0.1), "of one environment"
    assert improvement([[(np.ones(3), np.zeros(3))]]) == (1.0, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))


def test_over_environments_that_differ_the_interval_is_wider_than_over_seeds():
    up, down = (np.ones(3), np.zeros(3)), (np.zeros(3), np.ones(3))
    middle, seeds, both = improvement([[up], [up], [up], [down]])
    assert (middle, seeds) == (0.75, (0.75, 0.75, 0.75))
    assert (both.low, both.high) == (0.25, 1.0)
    assert improvement([[up], [up, down]])[0] == 0.75, "environments count the same, whatever the number of pairs"


@pytest.mark.parametrize(("starts", "spread"), [(1, 1.0), (4, 1.0)])
def test_the_intervals_hold_the_truth_about_as_often_as_they_say(starts, spread):
    """Scores are normal, and so is by how much an environment suits the rule: P = Phi(difference / sqrt(2))."""
    rng, held = np.random.default_rng(1), []
    of_others = norm.cdf(0.3 / np.sqrt(2 + spread**2))
    for _ in range(150):
        suits = rng.normal(0.3, spread, 8)
        environments = [
            [(each + rng.standard_normal(10), rng.standard_normal(10)) for _ in range(starts)] for each in suits
        ]
        _, seeds, both = improvement(environments, 200)
        of_these = norm.cdf(suits / np.sqrt(2)).mean()
        held.append((seeds.low <= of_these <= seeds.high, both.low <= of_others <= both.high))
    assert np.all(np.mean(held, axis=0) > 0.84), "95 % of many; of eight environments and ten seeds somewhat fewer"


def test_a_run_that_is_drawn_is_drawn_for_all_pairs_of_its_arm():
    arm = np.arange(6.0)
    middle, seeds, _ = improvement([[(arm, arm), (arm, arm)]])
    assert (middle, seeds.low, seeds.high) == pytest.approx((0.5, 0.5, 0.5)), "an arm is level with itself in each draw"


def test_the_report_has_a_row_for_every_arm_and_every_comparison():
    text = report(made_up(lambda rule, start, seed: seed + 5.0 * (rule == NOISE) + 3.0 * (start == STARTS[0])))
    assert text.count("\n| fixed: ") == text.count("\n| noise: ") == len(STARTS)
    assert "| started right: fixed defaults | 1.00 | 1.00 to 1.00 | 1.00 to 1.00 |" in text
    assert "A: seeds 0, 1." in text


def test_the_picture_has_a_panel_for_each_environment_and_one_of_all_starts(monkeypatch):
    monkeypatch.setitem(rules.STEPS, "A", 200)
    figure = rules_picture(made_up(lambda rule, start, seed: seed + 5.0 * (rule == NOISE)))
    drawn = [axis for axis in figure.axes if axis.axison]
    assert drawn[0].get_title(loc="left") == "A, 2 seeds"
    assert len(drawn) == 2
    assert len(drawn[-1].patches) == 3 * len(STARTS)
    plt.close(figure)
