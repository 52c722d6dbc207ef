"""What holds for every test: the same examples every time, one mpiexec job at a time, no skip that is not listed."""

import signal
from pathlib import Path

import hypothesis
import pytest
from runs import ROOT, mpi_is_marked, train

LISTED = dict(
    line.split(None, 1)
    for line in (ROOT / ".ci" / "skips.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
)

hypothesis.settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("random", deadline=None, max_examples=400, print_blob=True)  # make test-random
hypothesis.settings.load_profile("fixed")


def pytest_configure():
    """Heed the signals that a shell's background job, or nohup, ignores: programs that tests start inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let one worker have all tests that start mpiexec: two such jobs side by side would starve each other."""
    for item in items:
        if item.get_closest_marker("mpi"):
            item.add_marker(pytest.mark.xdist_group("mpi"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Make a failure of a skip whose reason is not a name on .ci/skips.txt."""
    report = yield
    return unless_listed(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Do the same for files that are skipped as a whole."""
    report = yield
    return unless_listed(report)


def unless_listed(report):
    """Return the report, as a failure if it is of a skip that is not on the list."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in LISTED:
            report.outcome = "failed"
            report.longrepr = f"skipped, but .ci/skips.txt does not name {reason!r}"
    return report


def pytest_terminal_summary(terminalreporter):
    """Print how many cases of each promise were run, and what was skipped for which reason."""
    counts, skips = {}, {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if outcome == "skipped":
                reason = report.longrepr[2].removeprefix("Skipped: ")
                skips[reason] = skips.get(reason, 0) + 1
            folder = report.nodeid.split("/")[1] if report.nodeid.count("/") > 1 else "others"
            counts[folder] = counts.get(folder, 0) + (report.when in ("call", None) or outcome != "passed")
    terminalreporter.write_line("cases: " + ", ".join(f"{folder} {n}" for folder, n in sorted(counts.items())))
    for reason, number in skips.items():
        terminalreporter.write_line(f"skipped: {number} for {reason}: {LISTED.get(reason, 'not on the list')}")


@pytest.fixture(autouse=True)
def only_marked_tests_start_mpiexec(request):
    """Tell `run` whether it may start mpiexec: a test that does is marked mpi."""
    marked = request.node.get_closest_marker("mpi") is not None
    assert not marked or not hasattr(request.config, "workerinput") or "@" in request.node.nodeid, "xdist forgot groups"
    mpi_is_marked(marked)


@pytest.fixture(scope="session")
def cartpole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run that several tests look at."""
    folder = tmp_path_factory.mktemp("runs") / "cartpole"
    train(folder, "--preset", "episodes", "--env", "CartPole-v1", "--total-steps", 6000, "--steps-per-update", 1000)
    return folder
