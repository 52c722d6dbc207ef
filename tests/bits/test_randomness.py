"""Random numbers depend on their key and on nothing else."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from minitrpo.experience.randomness import Purpose, generator, reset_seed

KEYS = list(itertools.product(range(4), range(4), range(12), Purpose))


def first(key):
    return generator(*key).integers(2**63)


def test_keys_do_not_collide():
    assert len({first(key) for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize("big", [2**31, 2**32, 2**40])
def test_large_numbers_are_keys_of_their_own(big):
    keys = [(0, 0, 0, Purpose.ACTIONS), *((big, 0, 0, Purpose.ACTIONS), (0, big, 0, Purpose.ACTIONS))]
    keys += [(0, 0, big, Purpose.ACTIONS), (1, 0, 0, Purpose.ACTIONS), (0, 1, 0, Purpose.ACTIONS)]
    assert len({first(key) for key in keys}) == len(keys)


def test_reset_seeds_do_not_collide_and_are_what_gymnasium_takes():
    seeds = [reset_seed(*key) for key in itertools.product(range(5), range(5), range(20))]
    assert len(set(seeds)) == len(seeds)
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
    assert max(seeds) > 2**30  # the whole range is used
    assert len(set(Purpose)) == len(Purpose.__members__)  # an alias would share a stream


def test_a_key_gives_the_same_numbers_in_any_order_and_in_any_process():
    key = (3, 1, 4, Purpose.ACTIONS)
    expected = generator(*key).standard_normal(5).tolist()
    generator(*key[:3], Purpose.UPDATE).standard_normal(100)
    np.random.default_rng().standard_normal(3)
    assert generator(*key).standard_normal(5).tolist() == expected
    code = "from minitrpo.experience.randomness import *; g = generator(3, 1, 4, Purpose.ACTIONS)"
    code += "; print(g.standard_normal(5).tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(expected)
