"""What keeps a submission from speaking in the grader's name: signed words, and no look at the frames that sign them.

Answers run in the process that checks them. What signs lives in the frame of `inside.main` alone, as a keyed hash whose
key nobody can read back, and an audit hook, which nobody can undo or reach, bars a notebook's code from all frames but
its own functions' returns: `tb_frame`, `sys._getframe`, `gc`, tracers, ctypes.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from minitrpo.course.grading.evidence import FRAMES, LOOKS, PACKAGE

TRACERS = ("sys.setprofile", "sys.settrace")
THROUGH = ("inspect", "ctypes", "IPython.utils.frame", "threading")  # who hands on what it looks at
WALKERS = ("walk_tb", "walk_stack", "currentframe", "<lambda>")  # the same of traceback and logging
SIZE = 16  # bytes of a signature


def signer(pipe: int, key: str) -> Callable[[dict[str, Any]], None]:
    """Return what tells a step through a pipe, numbered and signed, with nothing that a notebook can replace."""
    keyed, write, number = hashlib.blake2b(key=bytes.fromhex(key), digest_size=SIZE), os.write, 0

    def say(words: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        text = f"{ ({**words, 'count': number})!a}".encode()
        signature = keyed.copy()
        signature.update(text)
        write(pipe, signature.hexdigest().encode() + b" " + text + b"\n")

    return say


def heard(line: bytes, key: str, count: int) -> dict[str, Any]:
    """Return a step that was told and signed, {} for anything else, such as one that was told before."""
    signature, _, text = line.partition(b" ")
    right = hashlib.blake2b(text, key=bytes.fromhex(key), digest_size=SIZE).hexdigest().encode()
    if signature != right:
        return {}
    told: dict[str, Any] = ast.literal_eval(text.decode())
    return told if told["count"] > count else {}


def bar() -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that raises where code that is not installed looks at frames, or passes for installed."""
    looks, frame_of, busy = frozenset((*FRAMES, *LOOKS, *TRACERS)), sys._getframe, False
    places = (PACKAGE, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), "<frozen ")
    trusted = tuple(dict.fromkeys([*places, *map(os.path.realpath, places[:-1])]))
    through, walkers = frozenset(THROUGH), frozenset(WALKERS)

    def is_strange() -> bool:
        frame: FrameType | None = frame_of(2)
        while frame is not None:
            if not frame.f_code.co_filename.startswith(trusted):
                return True
            name = frame.f_globals.get("__name__")
            walks = name in ("traceback", "logging") and frame.f_code.co_name in walkers
            if name not in through and not walks:
                return False
            frame = frame.f_back
        return False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal busy
        if event == "object.__getattr__" and len(arguments) > 1 and arguments[1] in looks:
            event = arguments[1]
        passes = event in ("compile", "code.__new__") and f"{arguments[1]}".startswith(trusted)
        memory = event == "open" and f"{arguments[0]}".startswith("/proc/") and f"{arguments[0]}".endswith("/mem")
        if busy or not (event in looks or passes or memory or event.startswith("ctypes.")):
            return
        busy = True
        try:
            strange = is_strange()
        finally:
            busy = False
        if strange:
            raise RuntimeError(f"a notebook that is graded may not look behind its functions ({event})")

    return hook
