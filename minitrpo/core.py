"""The functions that an update of TRPO consists of, by the names that they have in the lectures.

A run takes the package's, with derivatives by hand. With `--derivatives autograd` it takes the versions that lectures
teach, and with `--core FOLDER` a student's own functions, from FOLDER/core.py.
"""

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import minitrpo.adaptive as lecture_09a
import minitrpo.advantages as lecture_05a
import minitrpo.conjugate_gradient as lecture_03
import minitrpo.line_search as lecture_04
import minitrpo.natural_gradient as lecture_02
import minitrpo.policy_gradient as lecture_01
import minitrpo.trpo as trpo
from minitrpo.errors import AlgorithmFailed, BadInput, describe_error, place_of
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, Policy

FILE = "core.py"


@dataclass(frozen=True)
class Core:
    """One function for each name; None: the package's, which stands elsewhere."""

    policy_gradient: Callable[..., Any] = lecture_01.policy_gradient_by_hand
    surrogate: Callable[..., Any] = lecture_01.surrogate
    fisher_vector_product: Callable[..., Any] = lecture_02.fisher_vector_product_by_hand
    conjugate_gradient: Callable[..., Any] = lecture_03.conjugate_gradient
    step_scale: Callable[..., Any] = lecture_04.step_scale
    backtracking: Callable[..., Any] = lecture_04.backtracking
    next_values: Callable[..., Any] = lecture_05a.next_values
    gae: Callable[..., Any] = lecture_05a.gae
    adapt: Callable[..., Any] = lecture_09a.adapt
    trpo_step: Callable[..., Any] | None = None  # that of `trpo_module`, which calls the functions above
    gaussian_log_prob: Callable[..., Any] | None = None  # the policy's, which have derivatives by hand
    gaussian_kl: Callable[..., Any] | None = None
    categorical_kl: Callable[..., Any] | None = None

    @cached_property
    def trpo_module(self) -> ModuleType:
        """Return `minitrpo.trpo`, or a copy of it that calls this core's functions instead of the package's.

        The code of an update stays as it is read in trpo.py; only what its names stand for is another.
        """
        if self == BY_HAND:
            return trpo
        spec = importlib.util.find_spec("minitrpo.trpo")
        assert spec is not None  # it is a module of the package
        assert spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.Batch, module.Report = trpo.Batch, trpo.Report  # or no report could travel between ranks
        module.policy_gradient_by_hand = self.policy_gradient
        module.fisher_vector_product_by_hand = self.fisher_vector_product
        for name in ("surrogate", "conjugate_gradient", "step_scale", "backtracking"):
            assert hasattr(module, name)  # or the name would stand for nothing there
            setattr(module, name, getattr(self, name))
        return module

    @property
    def step(self) -> Callable[..., Any]:
        """Return the function `trpo_step` of this core, or one that calls this core's functions."""
        return self.trpo_step or cast(Callable[..., Any], self.trpo_module.trpo_step)

    def policy(self, policy: Policy) -> Policy:
        """Return the policy of an update: one with this core's log_prob and kl, if it has any.

        Args:
            policy: the policy that acts, which stays as it is.

        Returns:
            The same policy, or one of the same shapes with derivatives by autograd.
        """
        shape = {f.name: getattr(policy, f.name) for f in fields(policy)}
        if isinstance(policy, GaussianPolicy) and (self.gaussian_log_prob or self.gaussian_kl):
            return GaussianOfCore(**shape, core=self)
        if isinstance(policy, CategoricalPolicy) and self.categorical_kl:
            return CategoricalOfCore(**shape, core=self)
        return policy


BY_HAND = Core()
BY_AUTOGRAD = replace(
    BY_HAND, policy_gradient=lecture_01.policy_gradient, fisher_vector_product=lecture_02.fisher_vector_product
)


@dataclass(frozen=True)
class GaussianOfCore(GaussianPolicy):
    """A Gaussian policy whose formulas are those of a core."""

    core: Core = BY_HAND

    def log_prob(self, dist_params: Any, actions: Any) -> Any:
        if self.core.gaussian_log_prob is None:
            return super().log_prob(dist_params, actions)
        return self.core.gaussian_log_prob(*self._split(dist_params), actions)

    def kl(self, old: Any, new: Any) -> Any:
        if self.core.gaussian_kl is None:
            return super().kl(old, new)
        return self.core.gaussian_kl(*self._split(old), *self._split(new))


@dataclass(frozen=True)
class CategoricalOfCore(CategoricalPolicy):
    """A categorical policy whose KL is that of a core."""

    core: Core = BY_HAND

    def kl(self, old: Any, new: Any) -> Any:
        assert self.core.categorical_kl is not None  # `Core.policy` made it because there is one
        return self.core.categorical_kl(old, new)


@dataclass(frozen=True)
class StudentsCore:
    """A core with a student's functions in it, and what a run says of them."""

    core: Core
    lectures: dict[str, str]  # of each function that is the student's; "" where the file does not say
    sha256: str  # of the file

    def record(self) -> dict[str, Any]:
        """Return what config.json records."""
        return {"functions": self.lectures, "sha256": self.sha256}

    def __str__(self) -> str:
        of_student = ", ".join(f"{name} ({lecture})" if lecture else name for name, lecture in self.lectures.items())
        others = ", ".join(f.name for f in fields(Core) if f.name not in self.lectures)
        return f"your functions: {of_student}; the package's: {others}"


def load_core(folder: Path | str, base: Core = BY_HAND) -> StudentsCore:
    """Return the functions that FOLDER/core.py defines, in the place of those of `base`.

    Args:
        folder: the folder, as `minitrpo core` fills it, and as messages name it.
        base: where the functions come from that the file does not define.

    Returns:
        The core. A function of it that raises is named in the message, with its lecture and its line.

    Raises:
        BadInput: if there is no such file, if it cannot be imported, or if it defines none of the functions.
    """
    file = Path(os.path.relpath(folder)) / FILE
    if not file.is_file():
        raise BadInput(f"--core: there is no {file}; `minitrpo core {file.parent}` writes it from your notebooks")
    module = _imported(file)
    names = [f.name for f in fields(Core)]
    lectures: dict[str, str] = getattr(module, "LECTURES", {})
    students = {
        name: function
        for name in names
        if callable(function := getattr(module, name, None)) and getattr(function, "__module__", "") == module.__name__
        if name in lectures or not lectures
    }
    if not students:
        raise BadInput(f"--core: {file} defines none of {', '.join(names)}")
    named = {name: _naming(function, name, lectures.get(name, ""), file) for name, function in students.items()}
    core = replace(base, **named)
    take_helpers(module, core)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return StudentsCore(core, {name: lectures.get(name, "") for name in students}, sha256)


def take_helpers(module: Any, core: Core) -> None:
    """Let the helpers of lecture 05b that a student's trpo_step calls call the student's functions in their turn."""
    for name in ("surrogate_gradient", "damped_fisher", "objective"):
        if getattr(module, name, None) is getattr(trpo, name):
            setattr(module, name, getattr(core.trpo_module, name))


def _imported(file: Path) -> ModuleType:
    """Return the file as a module of its own name, imported anew; BadInput if it raises."""
    spec = importlib.util.spec_from_file_location("students_core", file)
    assert spec is not None  # as for every file that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"--core: {file} cannot be imported: {describe_error(error)} ({place_of(error)})") from error
    return module


def _naming(function: Callable[..., Any], name: str, lecture: str, file: Path) -> Callable[..., Any]:
    """Return the function, and name it where it raises: it, and the function that it returns."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            answer = function(*arguments, **keywords)
        except AlgorithmFailed:  # of another function of the student's, which is named already
            raise
        except Exception as error:
            of_lecture = f", lecture {lecture}" if lecture else ""
            raise AlgorithmFailed(
                f"your {name} ({file}{of_lecture}) raised {describe_error(error)} ({place_of(error)})"
            ) from error
        returns_a_function = callable(answer) and not isinstance(answer, type)
        return _naming(answer, name, lecture, file) if returns_a_function else answer

    return call
