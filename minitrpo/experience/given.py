"""What a user hands over as an object, a class or a factory: the name that stands for it in the settings of a run."""

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium

from minitrpo.errors import BadInput, shorten

GIVEN: dict[str, Any] = {}  # of this process


def name_of(thing: Any) -> str:
    """Return module:Name for a class or function; another object that is called so gets a number at its end."""
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    first = f"{getattr(thing, '__module__', '__main__')}:{name.replace('<locals>.', '').replace('<lambda>', 'lambda')}"
    number, name = 1, first
    while GIVEN.get(name, thing) is not thing:
        number += 1
        name = f"{first}-{number}"
    GIVEN[name] = thing
    return name


@contextmanager
def standing_for(things: dict[str, Any]) -> Iterator[None]:
    """Let names stand for what was handed over while this lasts: then CartPole-v1 is Gymnasium's again."""
    before = dict(GIVEN)
    GIVEN.update(things)
    try:
        yield
    finally:
        GIVEN.clear()
        GIVEN.update(before)


def found(name: str) -> Any:
    """Return what was handed over under this name, or what a module that is loaded calls so; None if nothing is."""
    module, _, attribute = name.partition(":")
    if name in GIVEN or not attribute.isidentifier() or attribute in gymnasium.registry:
        return GIVEN.get(name)
    return getattr(importlib.import_module(module), attribute, None)


def made(factory: Any, env_id: str, options: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    """Return an environment of a class or function of the user's."""
    if not callable(factory):
        raise BadInput(f"{env_id} is {shorten(factory)}; not an id, nor what makes an environment")
    env = factory(**options)
    if not isinstance(env, gymnasium.Env):
        if inspect.iscoroutine(env):
            env.close()  # Python complains of one that nobody waits for
        raise BadInput(f"{env_id} makes {shorten(env)}, which is no gymnasium.Env")
    return env
