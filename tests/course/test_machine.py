"""A busy machine says so before it measures anything."""

import pytest

from minitrpo.course import machine
from minitrpo.course.classroom import busy, say_if_busy

SAID = "This machine is busy: other programs use 1.2 of its 2 cores right now."


def test_a_busy_machine_is_told_in_one_line(monkeypatch, tmp_path, capsys):
    """The first line of /proc/stat before and after: 60 of 100 ticks used, then 5 of 100."""
    monkeypatch.setattr(machine, "STAT", tmp_path / "stat")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for used, expected in ((60, True), (5, False)):
        machine.STAT.write_text("cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n")

        def later(seconds, used=used):
            machine.STAT.write_text(f"cpu {100 + used} 0 100 {795 - used} 105 0 0 0 0 0\n")

        monkeypatch.setattr("time.sleep", later)
        assert (say_if_busy(), busy()) == (None, False)  # the second look finds the clock standing
        assert bool(capsys.readouterr().out.startswith(SAID)) == expected


def test_where_the_system_does_not_say_how_busy_it_is_the_load_average_does(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "STAT", tmp_path / "none")
    monkeypatch.setattr("os.getloadavg", lambda: (1.0, 9.0, 9.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert machine.busy_share() == 0.5
    monkeypatch.delattr("os.getloadavg")
    assert machine.busy_share() == 0.0


def test_what_others_use_is_what_is_used_less_our_own(monkeypatch, tmp_path):
    """Of 200 ticks of two cores 150 were used, 50 of them by us and our children: others used half of all."""
    monkeypatch.setattr(machine, "STAT", tmp_path / "stat")
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    times = [(0.0,) * 5, (0.1, 0.1, 0.2, 0.1, 9.0)]
    monkeypatch.setattr("os.times", lambda: times.pop(0))
    machine.STAT.write_text("cpu 100 0 100 700 100 0 0 0 0 0\n")
    others = machine.Others()
    machine.STAT.write_text("cpu 200 0 150 740 110 0 0 0 0 0\n")
    assert others.share() == 0.5


def test_what_others_use_is_unknown_where_the_system_does_not_say(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "STAT", tmp_path / "none")
    assert machine.Others().share() != machine.Others().share(), "NaN"


def test_nothing_is_recorded_on_a_busy_machine_unless_one_insists(monkeypatch):
    monkeypatch.setattr(machine, "busy_share", lambda seconds: 0.55)
    monkeypatch.setattr("sys.argv", ["06_timing.py"])
    with pytest.raises(SystemExit, match=r"busy \(55% of its cores in use, 20% allowed\).*--even-if-busy"):
        machine.Recording()
    monkeypatch.setattr("sys.argv", ["06_timing.py", "--even-if-busy"])
    told = machine.Recording().conditions()
    assert told.startswith("other programs used 55% of the cores before it, ")


def test_a_recording_on_an_idle_machine_says_so(monkeypatch):
    monkeypatch.setattr(machine, "busy_share", lambda seconds: 0.03)
    assert "3% of the cores before it" in machine.Recording().conditions()
