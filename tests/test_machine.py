"""A busy machine says so before it measures anything."""

from minitrpo.classroom import busy, say_if_busy
from minitrpo.runs import machine

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
