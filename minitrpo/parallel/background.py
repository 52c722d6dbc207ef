"""Work that another thread of this process does, while this one computes."""

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def in_background(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin to work; return the function that waits for the end and returns, or raises, what `work` did."""
    done: list[Result] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()

    def wait() -> Result:
        thread.join()
        if failed:
            raise failed[0]
        return done[0]

    return wait
