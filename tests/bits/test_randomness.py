"""Random numbers depend on their key and on nothing else."""

import itertools
import subprocess
import sys

import numpy as np

from minitrpo.experience.randomness import Purpose, generator, reset_seed

LARGE = [key for big in (2**31, 2**32, 2**40) for key in ((big, 0, 0), (0, big, 0), (0, 0, big))]
KEYS = [*itertools.product(range(4), range(4), range(12), Purpose), *((*key, Purpose.ACTIONS) for key in LARGE)]


def first(key):
    return generator(*key).integers(2**63)


def test_keys_do_not_collide():
    assert len({first(key) for key in KEYS}) == len(KEYS)


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
