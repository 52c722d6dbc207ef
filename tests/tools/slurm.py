"""A Slurm of one node on this machine, started by hand in a folder of its own, and what a job of ours does there.

    python tests/tools/slurm.py    (make slurm)

Needs root, and Debian's packages slurmctld, slurmd, slurm-client and munge; no systemd. The daemons listen on free
ports and end with the script; no configuration of the machine's own is read or changed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from record import CHEAP, ROOT, Built, Table, alone, environment, keep, sha256, unavailable

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue")
CONFIG = """
ClusterName=minitrpo
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=15
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} CoresPerSocket={cores} State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=60 State=UP
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP
"""
LONG = (*CHEAP[:-3], "60000", "--progress", "none")  # long enough to be interrupted


def missing():
    """Return in one line what this machine lacks, "" if nothing."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    absent = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if absent:
        return f"{', '.join(absent)} (Debian: apt-get install slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "the daemons of Slurm are started by root"


class Slurm(Built):
    """A cluster of one node, for as long as the `with` lasts."""

    def __init__(self):
        self.place = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.daemons = []
        self.env = {
            **environment(), "SLURM_CONF": str(self.place / "slurm.conf"), "PYTHON": sys.executable,
        }  # fmt: skip
        self.env["PATH"] += os.pathsep + "/usr/sbin"

    def _build(self):
        for name in ("state", "spool", "jobs"):
            (self.place / name).mkdir()
        key = self.place / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = {"host": socket.gethostname().partition(".")[0], "place": self.place, "ports": free_ports(2)}
        (self.place / "slurm.conf").write_text(CONFIG.format(cores=os.cpu_count(), **files))
        (self.place / "cgroup.conf").write_text("CgroupAutomount=no\n")
        own = [
            f"--{name}={self.place}/munge.{name.partition('-')[0]}" for name in ("pid-file", "seed-file", "log-file")
        ]
        self._start(
            "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.place}/munge.socket", *own
        )
        until(lambda: (self.place / "munge.socket").exists(), 20, "munged made no socket")
        self._start("slurmctld", "-D", "-f", self.env["SLURM_CONF"])
        self._start("slurmd", "-D", "-f", self.env["SLURM_CONF"])
        until(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), 60, "the node did not become idle")

    def _start(self, *command):
        log = (self.place / f"{command[0]}.out").open("w")
        self.daemons.append(
            subprocess.Popen([*map(str, command)], env=self.env, stdout=log, stderr=log, start_new_session=True)
        )

    def ask(self, *command, timeout=300.0):
        """Run one of Slurm's commands and return what it printed, errors too."""
        done = subprocess.run(
            [*map(str, command)], env=self.env, cwd=self.place / "jobs", capture_output=True, text=True, check=False,
            timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout + done.stderr

    def submit(self, *options, words=(), **variables):
        """Submit the batch script; return the job's number."""
        told = ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())])
        script = ROOT / "mpi_scripts" / "train.sbatch"
        return self.ask("sbatch", "--parsable", f"--export={told}", *options, script, *words).strip()

    def state(self, job):
        """Return the state of a job, and how often it was started again."""
        told = dict(word.split("=", 1) for word in self.ask("scontrol", "show", "job", job).split() if "=" in word)
        return told.get("JobState", "?"), int(told.get("Restarts", 0))

    def said(self, job):
        """Return what a job has printed so far."""
        file = self.place / "jobs" / f"minitrpo-{job}.out"
        return file.read_text() if file.exists() else ""

    def rows(self, job):
        """Return how many updates a job's run has logged."""
        file = self.place / "jobs" / "runs" / f"job-{job}" / "metrics.csv"
        return file.read_text().count("\n") - 1 if file.exists() else 0

    def wait(self, job, seconds=300.0):
        """Wait until a job has ended for good; return its state and restarts."""
        until(lambda: self.state(job)[0] in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"), seconds,
              f"job {job} did not end:\n{self.said(job)}")  # fmt: skip
        return self.state(job)

    def close(self):
        """End all jobs and daemons and remove the folder."""
        if (self.place / "slurm.conf").exists() and len(self.daemons) == 3:
            with suppress(subprocess.TimeoutExpired):
                self.ask("scancel", "--user=root", "--signal=KILL", "--full", timeout=10)
                self.ask("scancel", "--user=root", timeout=10)
                until(lambda: not self.ask("squeue", "-h", timeout=10).strip(), 20, "")
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait(5)
        shutil.rmtree(self.place, ignore_errors=True)


def free_ports(count):
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def until(ask, seconds, complaint):
    """Wait until something is so; RuntimeError with the complaint if it never is (nothing if that is empty)."""
    deadline = time.monotonic() + seconds
    while not ask():
        if time.monotonic() > deadline:
            if complaint:
                raise RuntimeError(complaint)
            return
        time.sleep(0.25)


def main():
    """Try all of it and keep the result."""
    lacking = missing()
    if lacking:
        unavailable(lacking)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        short = sha256(alone(*CHEAP, "--out", f"{folder}/short"))
        long = sha256(alone(*LONG, "--out", f"{folder}/long"))
    with Slurm() as slurm:
        version = slurm.ask("sinfo", "--version").strip()
        table.add("a Slurm of one node", True, version)
        python = slurm.env["PYTHON"]
        out = slurm.ask("srun", "-n", 2, "--mpi=pmi2", python, "-m", "minitrpo", "train", *CHEAP, "--out", "direct")
        table.add("srun -n 2 --mpi=pmi2", sha256(out) == short and "2 rank(s)" in out, told(out, short))
        job = slurm.submit("-n", 2, words=CHEAP)
        state, _ = slurm.wait(job)
        table.add(
            "sbatch -n 2", state == "COMPLETED" and sha256(slurm.said(job)) == short, told(slurm.said(job), short)
        )
        job = slurm.submit("-n", 2, words=CHEAP, LAUNCH="mpiexec -n 2")
        state, _ = slurm.wait(job)
        out = slurm.said(job)
        table.add("sbatch -n 2, LAUNCH=mpiexec", state == "COMPLETED" and sha256(out) == short, told(out, short))
        for name, disturb in {
            "scancel --signal=TERM": lambda job: slurm.ask("scancel", "--signal=TERM", job),
            "a job of higher priority": lambda job: slurm.ask(
                "sbatch", "--partition=high", "-n", os.cpu_count(), "--output=/dev/null", "--wrap=sleep 1"
            ),
            "scontrol requeue": lambda job: slurm.ask("scontrol", "requeue", job),
        }.items():
            job = slurm.submit("-n", 2, words=LONG)
            until(lambda job=job: slurm.rows(job) >= 10, 120, f"{name}: no updates\n{slurm.said(job)}")
            before = slurm.rows(job)
            began = time.monotonic()
            disturb(job)
            until(lambda job=job: slurm.state(job)[0] != "RUNNING", 90, f"{name}: {slurm.state(job)}")
            gone = round(time.monotonic() - began, 1)
            state, restarts = slurm.wait(job)
            out = slurm.said(job)
            same = state == "COMPLETED" and restarts == 1 and sha256(out) == long
            clean = "stopped by SIGTERM" in out and "Traceback" not in out
            table.add(f"requeued by {name}", same and clean, told(out, long), at_update=before, seconds_to_leave=gone)
    keep("slurm", table.rows)
    return 0 if table.well else 1


def told(out, wanted):
    """Return what to say of a job's output."""
    if sha256(out) == wanted:
        stops = out.count("stopped by SIGTERM")
        return "the same bits" + (f", {stops} clean stop(s)" if stops else "")
    return f"other bits or none: {out[-600:]}"


if __name__ == "__main__":
    sys.exit(main())
