"""Settings that check themselves: every kind of value and of limit, and one line for what is outside."""

import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.options import a_kind, check_options, flag, option
from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.algorithms.trpo import TRPOSettings
from minitrpo.errors import BadInput
from minitrpo.training.settings import Settings

STEPS = [
    (name, f)
    for name in ALGORITHMS
    for f in fields(find(name).Settings)
    if f.name.endswith("step_size") or f.name == "max_kl"
]
QUICK = settings(max_examples=100, deadline=None)
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Toy:
    """One option of every kind."""

    count: int = option(3, "at least 1", least=1)
    seed: int = option(0, "0 or more", least=0)
    width: int = option(4, "both ends belong to it", least=1, most=8)
    rate: float = option(0.5, "the lower end does not belong to it, the upper one does", above=0, most=1)
    angle: float = option(0.0, "below a limit", most=1.5)
    size: float = option(1.0, "positive", above=0)
    height: float = option(3.0, "above some number", above=2.5)
    offset: float = option(0.0, "any finite number")
    kind: str = option("a", "one of two", "a source", ("a", "b"))
    text: str = option("", "any text")


def refused(**values):
    """Return the one line with which these values are refused."""
    with pytest.raises(BadInput) as failure:
        check_options(Toy(**values))
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_defaults_are_allowed():
    check_options(Toy())
    check_options(TRPOSettings())
    check_options(Settings())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"count": 0}, "--count must be 1 or more, not 0"),
        ({"seed": -1}, "--seed must be 0 or more, not -1"),
        ({"width": 0}, "--width must lie in [1, 8], not 0"),
        ({"width": 9}, "--width must lie in [1, 8], not 9"),
        ({"rate": 0.0}, "--rate must lie in (0, 1], not 0.0"),
        ({"rate": 1.5}, "--rate must lie in (0, 1], not 1.5"),
        ({"rate": 2}, "--rate must lie in (0, 1], not 2"),
        ({"angle": 1.6}, "--angle must lie in (-inf, 1.5], not 1.6"),
        ({"size": 0.0}, "--size must be positive, not 0.0"),
        ({"size": -1}, "--size must be positive, not -1"),
        ({"height": 2.5}, "--height must be above 2.5, not 2.5"),
        ({"kind": "c"}, "--kind must be one of a, b, not 'c'"),
        # what is no number has its own words, whatever the limits
        ({"rate": NAN}, "--rate must be a finite number, not nan"),
        ({"size": INF}, "--size must be a finite number, not inf"),
        ({"angle": -INF}, "--angle must be a finite number, not -inf"),
        ({"offset": NAN}, "--offset must be a finite number, not nan"),
        ({"offset": -INF}, "--offset must be a finite number, not -inf"),
        # the wrong type, as a damaged config.json may have it
        ({"count": 3.0}, "--count must be an integer, not 3.0"),
        ({"count": True}, "--count must be an integer, not True"),
        ({"count": "3"}, "--count must be an integer, not '3'"),
        ({"count": None}, "--count must be an integer, not None"),
        ({"rate": "0.5"}, "--rate must be a number, not '0.5'"),
        ({"rate": True}, "--rate must be a number, not True"),
        ({"rate": [0.5]}, "--rate must be a number, not [0.5]"),
        ({"text": 5}, "--text must be a text, not 5"),
        ({"kind": None}, "--kind must be a text, not None"),
    ],
)
def test_what_is_outside_is_refused_in_one_line(values, said):
    assert refused(**values) == said


@pytest.mark.parametrize(
    "values",
    [
        {"count": 1}, {"seed": 0}, {"width": 1}, {"width": 8}, {"rate": 1.0}, {"rate": 5e-324}, {"angle": 1.5},
        {"size": math.nextafter(0, 1)}, {"height": math.nextafter(2.5, 3)}, {"offset": -1e308}, {"kind": "b"},
        {"text": "anything"},
        {"seed": 10**400},
        {"rate": 1}, {"size": 2}, {"offset": 0},  # an integer is a number
    ],
)  # fmt: skip
def test_the_limits_themselves(values):
    check_options(Toy(**values))


NUMBERS = st.one_of(st.floats(), st.integers(-3, 12), st.sampled_from([0.0, 1.0, 2.5, 8.0]))


@given(NUMBERS, st.one_of(st.none(), NUMBERS), st.one_of(st.none(), NUMBERS), st.one_of(st.none(), NUMBERS))
@QUICK
def test_a_number_is_allowed_just_where_all_its_limits_say_so(value, above, least, most):
    @dataclass(frozen=True)
    class One:
        x: float = option(0.0, "", above=above, least=least, most=most)

    allowed = math.isfinite(value) and (above is None or value > above)
    allowed = allowed and (least is None or value >= least) and (most is None or value <= most)
    refusal = pytest.raises(BadInput, match=f"^--x must .*, not {re.escape(str(value))}$")
    with nullcontext() if allowed else refusal:
        check_options(One(value))


def test_settings_may_have_a_check_of_their_own_which_comes_last():
    @dataclass(frozen=True)
    class Pair:
        low: int = option(1, "", least=0)
        high: int = option(2, "", least=0)

        def check(self):
            if self.low > self.high:
                raise BadInput(f"--low {self.low} is above --high {self.high}")

    check_options(Pair(2, 2))
    for pair, said in ((Pair(3, 2), "--low 3 is above --high 2"), (Pair(3, -1), "--high must be 0 or more, not -1")):
        with pytest.raises(BadInput) as failure:
            check_options(pair)
        assert str(failure.value) == said


@pytest.mark.parametrize("settings", [Settings, TRPOSettings])
def test_every_setting_says_what_it_is(settings):
    for f in fields(settings):
        assert f.metadata["help"]
        assert a_kind(f.default) in ("an integer", "a number", "a text")
        assert flag(f.name) == "--" + f.name.replace("_", "-")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"adapt_min_steps": 9000, "adapt_max_steps": 10}, "--adapt-min-steps 9000 is above --adapt-max-steps 10"),
        ({"adapt_min_kl": 0.03}, "--adapt-min-kl 0.03 is above --adapt-max-kl 0.02"),
    ],
)
def test_limits_that_contradict_each_other(changes, said):
    with pytest.raises(BadInput, match=f"^{said}$"):
        check_options(TRPOSettings(**changes))


@pytest.mark.parametrize("text", ["", "64,", ",64", "64,,64", "0", "-64", "6.4", "64;64", "x", "64 64", "100000", "⁵"])
def test_hidden_layers_that_are_none(text):
    with pytest.raises(BadInput, match="--hidden must be positive integers below 100000"):
        check_options(Settings(hidden=text))


@pytest.mark.parametrize(
    ("text", "sizes"), [("64,64", (64, 64)), ("8", (8,)), (" 32 , 16 ", (32, 16)), ("99999", (99999,))]
)
def test_hidden_layers(text, sizes):
    check_options(Settings(hidden=text))
    assert Settings(hidden=text).hidden_sizes == sizes


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1.5", "s", "-3s", "nan", "nans", "infs", "20 s", "1e3", "x", "01", "1s2"]
)
def test_checkpoints_that_never_come(text):
    with pytest.raises(BadInput, match="--checkpoint-every must be a number of updates or seconds, such as 20 or 30s"):
        check_options(Settings(checkpoint_every=text))


@pytest.mark.parametrize(
    ("text", "updates", "seconds"), [("1", 1, INF), ("20", 20, INF), ("30s", 0, 30.0), ("0.5s", 0, 0.5), ("0s", 0, 0.0)]
)
def test_checkpoints_by_updates_or_by_the_clock(text, updates, seconds):
    check_options(Settings(checkpoint_every=text))
    chosen = Settings(checkpoint_every=text)
    assert (chosen.checkpoint_updates, chosen.checkpoint_seconds) == (updates, seconds)


@pytest.mark.parametrize(("algorithm", "field"), STEPS, ids=lambda x: getattr(x, "name", x))
def test_every_step_of_every_algorithm_is_told_when_it_is_too_small_to_be_felt(algorithm, field):
    assert field.metadata["felt"] > 0
    assert field.default > 1e3 * field.metadata["felt"]
