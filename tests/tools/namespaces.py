"""Several hosts on one machine: Linux namespaces with a network, files, processes and shared memory of their own.

    with Hosts(2) as hosts:
        done = hosts.mpiexec("10.77.0.1:2,10.77.0.2:2", "python", "mpi_scripts/train.py", "--out", hosts.here / "run")

A host is a network namespace with one cable to a switch. What runs on it has its own /dev/shm, its own System V memory,
its own processes, its own name, and at the path `hosts.here` a folder that no other host sees. Programs are the same
files on all, as on a cluster. Nothing outside these namespaces is touched; all addresses are inside them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from record import Built

LETTERS = "abcdefgh"
NETWORK = "10.77.0."
# Only TCP between ranks of two hosts; ranks of one host share its own /dev/shm
WIRES = {"UCX_TLS": "tcp,posix,self", "UCX_NET_DEVICES": "eth0", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}
ENTER = """#!/bin/sh
# what a launcher calls in place of ssh: enter HOST COMMAND...
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
letter=$(printf %s "$host" | tr 12345678 abcdefgh | tail -c 1)
exec ip netns exec {prefix}-$letter unshare --mount --ipc --uts --pid --fork --kill-child --mount-proc \\
  sh {scratch}/inside "$letter" "$@"
"""
INSIDE = """#!/bin/sh
letter=$1; shift
hostname host-$letter
mount -t tmpfs tmpfs /dev/shm
mount --bind {scratch}/$letter {scratch}/here
mount --bind {scratch}/hosts /etc/hosts
cd {scratch}/here
exec sh -c "$*"
"""


def missing():
    """Return in one line why this machine cannot play several hosts, "" if it can."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    absent = [tool for tool in ("ip", "unshare", "mount", "hostname") if shutil.which(tool) is None]
    if absent:
        return f"{absent[0]} is not installed (Debian: apt-get install iproute2 util-linux mount hostname)"
    name = f"mt{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces may not be made here: {' '.join(made.stderr.split())}"
    cabled = ["ip", "link", "add", "tried0", "netns", name, "type", "veth", "peer", "name", "tried1", "netns", name]
    entered = ["ip", "netns", "exec", name, "unshare", "--mount", "--ipc", "--uts", "--pid", "--fork", "--mount-proc"]
    for command in (cabled, [*entered, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            break
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return f"{command[0]} {command[1]} is not allowed here: {' '.join(done.stderr.split())}" if done.returncode else ""


class Hosts(Built):
    """`count` hosts, 10.77.0.1 and on, called host-a and on; gone again, with all that runs on them, at the end."""

    def __init__(self, count):
        self.count, self.prefix = count, f"mt{os.getpid()}"
        self.scratch = Path(tempfile.mkdtemp(prefix="hosts-"))
        self.here = self.scratch / "here"  # on every host a folder of its own
        self.enter = self.scratch / "enter"

    def _build(self):
        self.here.mkdir()
        names = {"prefix": self.prefix, "scratch": self.scratch}
        self.enter.write_text(ENTER.format(**names))
        self.enter.chmod(0o755)
        (self.scratch / "inside").write_text(INSIDE.format(**names))
        lines = [f"{NETWORK}{i + 1} host-{LETTERS[i]}" for i in range(self.count)]
        (self.scratch / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
        self._ip("netns", "add", f"{self.prefix}-switch")
        self._in("switch", "link", "add", "bridge0", "type", "bridge")
        self._in("switch", "link", "set", "bridge0", "up")
        for i, letter in enumerate(LETTERS[: self.count]):
            (self.scratch / letter).mkdir()
            host, switch = f"{self.prefix}-{letter}", f"{self.prefix}-switch"
            self._ip("netns", "add", host)
            self._ip(*f"link add eth0 netns {host} type veth peer name port-{letter} netns {switch}".split())
            self._in(letter, "address", "add", f"{NETWORK}{i + 1}/24", "dev", "eth0")
            self._in(letter, "link", "set", "eth0", "up")
            self._in(letter, "link", "set", "lo", "up")
            self._in("switch", "link", "set", f"port-{letter}", "master", "bridge0")
            self._in("switch", "link", "set", f"port-{letter}", "up")

    def folder(self, letter):
        """Return where what a host has at `here` lies on this machine."""
        return self.scratch / letter

    def cut(self, letter):
        """Unplug a host's cable at the switch: the host itself sees nothing but silence."""
        self._in("switch", "link", "set", f"port-{letter}", "nomaster")

    def mend(self, letter):
        """Plug it in again."""
        self._in("switch", "link", "set", f"port-{letter}", "master", "bridge0")

    def slow(self, milliseconds):
        """Delay everything that leaves the switch for a host by so much; 0: by nothing. False if this cannot be had."""
        codes = []
        for letter in LETTERS[: self.count]:
            words = ["tc", "-n", f"{self.prefix}-switch", "qdisc"]
            there = ["dev", f"port-{letter}", "root"]
            if milliseconds:
                command = [*words, "replace", *there, "netem", "delay", f"{milliseconds}ms"]
            else:
                command = [*words, "del", *there]
            codes.append(subprocess.run(command, capture_output=True, check=False).returncode)
        return not any(codes)

    @contextmanager
    def slow_cable(self, milliseconds, megabits):
        """Have all frames between hosts a and b come so much later, and at so many bits a second: see relay.py."""
        self.cut("a")
        self.cut("b")
        words = [sys.executable, str(Path(__file__).with_name("relay.py")), "port-a", "port-b"]
        command = ["ip", "netns", "exec", f"{self.prefix}-switch", *words, str(milliseconds), str(megabits)]
        relay = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        try:
            if relay.stdout.readline() != "ready\n":
                raise OSError("relay.py does not run")
            yield
        finally:
            relay.terminate()
            relay.communicate()
            self.mend("a")
            self.mend("b")

    def sent(self, letter):
        """Return (bytes, packets) that a host has sent and received since it was made."""
        done = subprocess.run(
            ["ip", "-n", f"{self.prefix}-{letter}", "-s", "-j", "link", "show", "eth0"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        both = json.loads(done.stdout)[0]["stats64"]
        return tuple(both["rx"][kind] + both["tx"][kind] for kind in ("bytes", "packets"))

    def start(self, places, *words, launcher=(), env=None):
        """Start words on ranks; places: "1:2,2:2" is two ranks on host a and two on host b. Returns the process."""
        hosts = ",".join(NETWORK + place for place in places.split(","))
        ranks = sum(int(place.partition(":")[2]) for place in places.split(","))
        mpiexec = str(Path(sys.executable).parent / "mpiexec")
        first = NETWORK + places[0]
        command = [mpiexec, "-launcher", "ssh", "-launcher-exec", self.enter, "-hosts", hosts, "-n", ranks]
        command = [*command, "-iface", "eth0", "-localhost", first, *launcher, *words]
        return self.on(places[0], *command, env=env)

    def on(self, number, *words, env=None):
        """Start one command on a host, by its number; return the process, with stdout and stderr as text."""
        quoted = " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in words)
        return subprocess.Popen(
            [str(self.enter), NETWORK + str(number), quoted], env={**os.environ, **WIRES, **(env or {})}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def processes(self, letters=LETTERS):
        """Return the ids of all processes on the hosts, or on some of them."""
        found = []
        for letter in letters[: self.count]:
            done = subprocess.run(
                ["ip", "netns", "pids", f"{self.prefix}-{letter}"], capture_output=True, text=True, check=False
            )
            found += [int(word) for word in done.stdout.split()]
        return found

    def close(self):
        """End everything on the hosts, and take them down."""
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
        for name in (*LETTERS[: self.count], "switch"):
            subprocess.run(["ip", "netns", "del", f"{self.prefix}-{name}"], capture_output=True, check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def _in(self, name, *words):
        self._ip("-n", f"{self.prefix}-{name}", *words)
