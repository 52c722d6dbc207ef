"""The claims of the seeds: each is whole, judges tell the truth where it is known, what is recorded is shown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image

from minitrpo.commands.command_line import choice_of
from minitrpo.course.claims import page
from minitrpo.course.claims.claim import FULL, QUICK, judge
from minitrpo.course.claims.measuring import read_off
from minitrpo.course.claims.parts import higher, level, ratio, same_bits, sooner, trend
from minitrpo.course.claims.quantities import Quantity, area, mean_between, return_at, steps_to_goal
from minitrpo.course.claims.registry import CLAIMS
from minitrpo.course.claims.store import CHECKOUT, jobs, missing, place_in, shown, state_of
from minitrpo.reports.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS

TASK, NEVER = "CartPole-v1", np.inf
VALUE = Quantity("value", lambda run: run["value"])


def runs(**arms):
    """Return runs that have these values: {name: values}."""
    return {
        (name, TASK): [{"value": v, "usable_cores": 2, "theta_sha256": str(v)} for v in values]
        for name, values in arms.items()
    }


def test_a_claim_is_whole_and_train_understands_its_arms():
    for claim in CLAIMS.values():
        home = CLAIMS[claim.home]
        assert (claim.arms, claim.full, claim.quick, home.home) == (home.arms, home.full, home.quick, home.name)
        assert len(claim.parts) > 0
        assert claim.full.seeds > max(4, claim.quick.seeds)
        assert set(claim.full.steps) == {arm.env for arm in claim.arms} >= set(claim.quick.steps)
        assert len({(arm.name, arm.env) for arm in claim.arms}) == len(claim.arms)
        for arm in claim.arms:
            choice_of(["--env", arm.env, "--total-steps", "1000000", *arm.words.split()])


UP, DOWN, BY, HALF, WHOLE = [5.0, 5.1, 4.9], [1.0, 1.1, 0.9], [5.05, 4.0, 6.0], [0.5, 0.51, 0.49], [1.0, 1.01, 0.99]
TREND = trend(VALUE, {"a": 1.0, "b": 2.0, "c": 16.0}, TASK)
ASKED = [
    (higher(VALUE, "a", "b", TASK), {"a": UP, "b": DOWN}, HOLDS),
    (higher(VALUE, "a", "b", TASK), {"a": DOWN, "b": UP}, DOES_NOT_HOLD),
    (higher(VALUE, "a", "b", TASK), {"a": UP, "b": BY}, CANNOT_TELL),
    (higher(VALUE, "a", "b", TASK), {"a": [5.0], "b": [1.0]}, CANNOT_TELL),  # one seed has no interval
    (higher(VALUE, "a", "b", TASK), {"a": [*UP, np.nan], "b": DOWN}, None),
    (ratio(VALUE, "a", "b", TASK, 0.6), {"a": HALF, "b": WHOLE}, HOLDS),
    (ratio(VALUE, "a", "b", TASK, 0.3), {"a": HALF, "b": WHOLE}, DOES_NOT_HOLD),
    (ratio(VALUE, "a", "b", TASK, 0.5, about=0.1), {"a": HALF, "b": WHOLE}, HOLDS),
    (ratio(VALUE, "a", "b", TASK, 0.55, about=0.05), {"a": HALF, "b": WHOLE}, CANNOT_TELL),
    (ratio(VALUE, "a", "b", TASK, 0.6, cores=3), {"a": HALF, "b": WHOLE}, CANNOT_TELL),  # there are 2
    (sooner(VALUE, "a", "b", TASK), {"a": [1, 2, 3, 4, 5], "b": [6, 7, NEVER, NEVER, NEVER]}, HOLDS),
    (sooner(VALUE, "a", "b", TASK), {"a": [6, 7, NEVER, NEVER, NEVER], "b": [1, 2, 3, 4, 5]}, DOES_NOT_HOLD),
    (sooner(VALUE, "a", "b", TASK), {"a": [NEVER] * 5, "b": [NEVER] * 5}, CANNOT_TELL),
    (level(VALUE, "a", TASK, 0.5), {"a": WHOLE}, HOLDS),
    (level(VALUE, "a", TASK, 0.93, about=0.05), {"a": HALF}, DOES_NOT_HOLD),
    (level(VALUE, "a", TASK, 4, above=False), {"a": [1.0, 9.0, 3.0]}, CANNOT_TELL),
    (TREND, {"a": [0.0, 0.1, 0.2], "b": [1.0, 1.1, 1.2], "c": [4.0, 4.1, 4.2]}, HOLDS),
    (TREND, {"a": [4.0, 4.1, 4.2], "c": [0.0, 0.3, 0.2]}, DOES_NOT_HOLD),
    (TREND, {"a": [4.0, 4.1, 4.2]}, None),
    (same_bits(TASK, ("a", "b")), {"a": [1, 2], "b": [1, 2]}, HOLDS),
    (same_bits(TASK, ("a", "b")), {"a": [1, 2], "b": [1, 3]}, DOES_NOT_HOLD),
]


def test_a_question_has_the_answer_that_its_numbers_give():
    for part, values, told in ASKED:
        answer = part.ask(runs(**values))
        assert (answer and answer[1]) == told, (part.words, values)
    rng, luck = np.random.default_rng(1), higher(VALUE, "a", "b", TASK)
    told = [luck.ask(runs(a=rng.normal(size=5), b=rng.normal(size=5)))[1] for _ in range(400)]
    assert told.count(CANNOT_TELL) > 0.91 * len(told), "of no difference, in about five of a hundred cases"


def test_a_claim_holds_only_if_all_of_it_was_asked_and_holds():
    yes, no, unclear = (level(VALUE, name, TASK, 0.5 if name != "b" else 2.0) for name in "abc")
    found, unasked = runs(a=[1.0, 1.01], b=[1.0, 1.01], c=[0.4, 0.7]), level(VALUE, "d", TASK, 0.5)
    for parts, told in (((yes,), HOLDS), ((yes, no), DOES_NOT_HOLD), ((yes, unasked), CANNOT_TELL),
                        ((yes, unclear), CANNOT_TELL), ((no, unasked, unclear), DOES_NOT_HOLD)):  # fmt: skip
        assert judge(replace(CLAIMS["S1"], parts=parts), found)[0] == told


# --- what is read off a run


def test_a_mean_between_two_places_counts_rows_by_their_part():
    ends, values = np.array([10.0, 20.0, 40.0]), np.array([1.0, 3.0, 5.0])
    assert mean_between(ends, values, 0, 40) == pytest.approx((10 + 30 + 100) / 40)
    assert mean_between(ends, values, 15, 30) == pytest.approx((5 * 3 + 10 * 5) / 15)
    assert np.isnan(mean_between(ends, values, 0, 50)), "the run ended before"
    assert mean_between(ends, np.array([1.0, np.nan, 5.0]), 0, 20) == 1.0


def test_what_is_kept_of_a_run_has_its_means_and_rows_in_which_no_episode_ended_count_nowhere():
    count, rng = 1_003, np.random.default_rng(2)
    columns = {"iteration": np.arange(1.0, count + 1), "env_steps": 50.0 * np.arange(1, count + 1)}
    columns |= {"mean_return": rng.normal(size=count), "steps_per_update": np.full(count, 50.0)}
    kept = read_off(columns, with_seconds=False)
    assert len(kept["rows"]["iteration"]) <= 100
    whole = mean_between(columns["env_steps"], columns["mean_return"], 0, 50 * count)
    assert area(50 * count).of(kept) == pytest.approx(whole, abs=1e-5)
    assert np.isnan([return_at(60_000).of(kept), steps_to_goal(1.0, 50_000).of(kept)]).all()
    columns = {"iteration": np.arange(1.0, 5), "env_steps": 100.0 * np.arange(1, 5)}
    columns |= {"mean_return": np.array([np.nan, 2, np.nan, 4]), "eval_return": np.array([np.nan, np.nan, 7.5, np.nan])}
    kept = json.loads(json.dumps(read_off(columns, with_seconds=False), allow_nan=False))
    assert (area(400).of(kept), steps_to_goal(7.0, 0).of(kept)) == (3.0, 300)


# --- what is recorded


def test_what_is_recorded_is_whole_and_the_page_and_pictures_show_it(monkeypatch, tmp_path, capsys):
    assert CHECKOUT.page.read_text() == page.text(CHECKOUT), "python mpi_scripts/figures.py all --only plot"
    for claim in CLAIMS.values():
        kind, found = shown(CHECKOUT, claim)
        assert (kind, missing(CHECKOUT, CLAIMS[claim.home], FULL)) == (FULL, []), claim.name
        assert Image.open(CHECKOUT.picture(claim, kind)).text["Description"] == state_of(found)
        known = {CHECKOUT.record(job) for each in (QUICK, FULL) for job in jobs(CLAIMS[claim.home], each)}
        assert {file for each in (QUICK, FULL) for file in (CHECKOUT.data / claim.home / each).glob("*")} <= known
    monkeypatch.setattr(plt, "show", lambda: None)
    page.show_claims("B1")
    assert len(plt.gcf().axes) > 0
    plt.close("all")
    monkeypatch.setattr(page, "CHECKOUT", place_in(str(tmp_path)))
    page.show_claims("A1")
    assert capsys.readouterr().out.rstrip().endswith("not measured yet: python mpi_scripts/figures.py A1")
