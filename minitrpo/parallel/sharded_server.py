"""A parameter server in shares: server k keeps the k-th part of theta, and of all that goes with it number by number.

A worker pulls all shares and pushes to each server its part of a gradient. Nobody sees to it that the shares of one
pull are of one moment, or that all servers refuse the same gradients: each goes its own way, as those of Dean et al.
2012 and Nair et al. 2015 do. Arrays of theta's shape are shared out; of all others every server has its own.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.parallel.comm import packed, unpacked
from minitrpo.parallel.mailbox import COLLECT, END, LEAVE, NO_BYTES, PUSH, VERSION, Mail, MailStore, until
from minitrpo.parallel.parameter_server import Arrays, Pulled


def share_of(arrays: Arrays, size: int, server: int, servers: int) -> Arrays:
    """Return server k's own arrays: a part of those of shape (size,), and all others as they are."""
    return {
        name: np.array_split(array, servers)[server].copy() if array.shape == (size,) else array
        for name, array in arrays.items()
    }


class ShardedStore(MailStore):
    """A worker's way to several servers, ranks 0 to K - 1; server 0 says when the work is over."""

    def __init__(self, mail: Mail, servers: int, size: int, look: Callable[[], None] = lambda: None) -> None:
        """Take the way, K, and how many numbers theta has. look: see MailStore."""
        super().__init__(mail, look)
        self._servers, self._size, self._versions = servers, size, [0] * servers

    def pull(self) -> Pulled | None:
        """Return the arrays, put together of their shares."""
        answers: list[Arrays] = []
        for server in range(self._servers):
            arrays = self.pull_from(server)
            if not arrays:  # server 0 says that the work is over
                for other in range(1, self._servers):
                    self._mail.send(other, LEAVE, NO_BYTES)
                return None
            self._versions[server] = int(arrays.pop(VERSION)[0])
            answers.append(arrays)
        whole = {name: np.concatenate([share[name] for share in answers]) for name in answers[-1]}
        return Pulled(answers[0] | whole, self._versions[0])

    def push(self, gradient: Arrays, version: int) -> None:
        """Send every server its part of a gradient, with the version that its share had."""
        for server, version in enumerate(self._versions):
            part = share_of(gradient, self._size, server, self._servers)
            self._mail.send(server, PUSH, packed({**part, VERSION: np.array([version])}))
        self._look()


class Shares:
    """Rank 0's way to the shares of the other servers."""

    def __init__(self, mail: Mail, servers: int, own: Arrays, names: tuple[str, ...]) -> None:
        """Take the way, K, the root's own shares, and the names of those that are shared out."""
        self._mail, self._others, self._own, self._names = mail, range(1, servers), own, names

    def whole(self) -> Arrays:
        """Return the arrays that are shared out, put together of what every server has now."""
        if not self._others:
            return {}
        for server in self._others:
            self._mail.send(server, COLLECT, NO_BYTES)
        parts = [self._own, *map(self._answer_of, self._others)]
        return {name: np.concatenate([part[name] for part in parts]) for name in self._names}

    def end(self) -> None:
        """Tell the other servers that nothing more is needed of them."""
        for server in self._others:
            self._mail.send(server, END, NO_BYTES)

    def _answer_of(self, server: int) -> Arrays:
        return unpacked(until(lambda: self._mail.receive(server))[2])
