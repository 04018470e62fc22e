"""The folder feed: files dropped while they are written, twice, wrong, or before a kill."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.service.application import NOW, STEP, Web, listening
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.cli import main
from clearwatt.feeds.delivery import Delivery
from clearwatt.feeds.drop_folder import DropFolder
from clearwatt.feeds.folder import FolderFeed
from clearwatt.feeds.ledger import Ledger, content_digest
from clearwatt.feeds.stopping import StopRequest
from clearwatt.imports import read_recipe

from .stored import stored

RECIPE = """
separator = ";"
decimal = ","
timezone = "Europe/Berlin"
interval = "end"
unit = "MW"

[names]
"Solarpark" = "park"
"""


def export(first: int, count: int, *names: str, value: float = 1.5) -> str:
    """An export in German, in local time (CEST), with the ends of intervals."""
    lines = [";".join(["Zeit", *(f"{name} [MW]" for name in names)])]
    for step in range(first, first + count):
        local = datetime.fromtimestamp(NOW + STEP * (step + 1), UTC) + timedelta(hours=2)
        cells = [f"{value + step:.3f}".replace(".", ",") for _ in names]
        lines.append(";".join([f"{local:%d.%m.%Y %H:%M}", *cells]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def drops(tmp_path) -> Path:
    folder = tmp_path / "drops"
    folder.mkdir()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return folder


def take(drops: Path, url: str, capsys, *more: str) -> tuple[int, list[dict]]:
    """Take what is there once; the exit code and a record per file."""
    recipe = str(drops.parent / "recipe.toml")
    options = ["--recipe", recipe, "--url", url, "--once", "--settle", "0", "--json", *more]
    code = main(["feed", "folder", str(drops), *options])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_files_are_sent_once_and_moved_with_a_report(drops, web, url, capsys):
    (drops / "a.csv").write_text(export(0, 4, "Solarpark", "mill"))
    (drops / "b.csv").write_text(export(4, 4, "Solarpark", "mill"))
    (drops / "copy of a.csv").write_text(export(0, 4, "Solarpark", "mill"))
    (drops / "notes.pdf").write_text("not an export")
    (drops / ".c.csv").write_text("being written")
    code, files = take(drops, url, capsys)
    assert code == 0
    states = [(each["file"], each["state"], each["new"]) for each in files]
    assert states == [("a.csv", "done", 8), ("b.csv", "done", 8), ("copy of a.csv", "known", 0)]
    assert stored(web) == [(step, 1000 * (1.5 + step)) for step in range(8)]
    assert stored(web, "mill") == stored(web)
    assert sorted(path.name for path in drops.iterdir()) == [
        ".c.csv", ".clearwatt", "done", "notes.pdf",
    ]  # fmt: skip
    assert "from a.csv" in (drops / "done" / "copy of a.csv.report.txt").read_text()
    (drops / "a.csv").write_text(export(0, 4, "Solarpark", "mill", value=2.5))
    _, (corrected,) = take(drops, url, capsys)
    assert (corrected["new"], corrected["corrections"]) == (0, 8)
    assert Path(corrected["moved_to"]).name == "a-2.csv"


def test_what_is_wrong_is_reported_and_mended_by_moving_the_file_back(drops, web, url, capsys):
    (drops / "good.csv").write_text(export(0, 4, "mill"))
    (drops / "hourly.csv").write_text("Zeit;mill [MW]\n01.06.2024 03:00;1\n01.06.2024 04:00;2\n")
    (drops / "stranger.csv").write_text(export(0, 4, "mill", "tower", value=7))
    (drops / "text.csv").write_text("there is nothing to read\n")
    code, files = take(drops, url, capsys)
    assert code == 2
    assert {each["file"]: each["state"] for each in files} == {
        "good.csv": "done", "hourly.csv": "failed", "stranger.csv": "failed", "text.csv": "failed",
    }  # fmt: skip
    assert stored(web, "mill") == [(step, 1000 * (1.5 + step)) for step in range(4)]
    report = (drops / "failed" / "stranger.csv.report.txt").read_text()
    assert "'tower' is not registered" in report
    assert "step = 15" in (drops / "failed" / "hourly.csv.report.txt").read_text()
    (drops.parent / "recipe.toml").write_text('leave_out = ["tower"]\n' + RECIPE)
    (drops / "failed" / "stranger.csv").rename(drops / "stranger.csv")
    code, (mended,) = take(drops, url, capsys)
    assert (code, mended["state"], mended["corrections"]) == (0, "done", 4)


def test_readings_that_the_service_refuses_make_a_file_fail(drops, web, url, capsys):
    days = 3 * 86400 // STEP  # after the clock of the service
    (drops / "future.csv").write_text(export(days, 2, "mill"))
    code, (future,) = take(drops, url, capsys)
    assert (code, future["state"], future["refused"]) == (2, "failed", 2)
    assert "more than a day in the future" in (drops / "failed/future.csv.report.txt").read_text()


def test_a_file_is_complete_when_it_has_not_changed_for_a_while(drops, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    folder = DropFolder(drops, ["*.csv"], settle=10)
    growing = drops / "growing.csv"
    growing.write_text("a")
    assert folder.complete_files() == []
    now += 9
    with growing.open("a") as file:
        file.write("b")
    assert folder.complete_files() == []
    now += 9
    assert folder.complete_files() == []
    now += 1
    assert folder.complete_files() == [growing]


def test_a_kill_between_sending_and_moving_moves_the_file_at_the_next_start(
    drops, web, url, capsys
):
    """The folder for finished files cannot be made, so that the file stays where it is."""
    (drops / "a.csv").write_text(export(0, 4, "mill"))
    (drops / "done").write_text("in the way")
    code, _ = take(drops, url, capsys)
    assert code == 2
    assert (drops / "a.csv").exists()
    (drops / "done").unlink()
    _, (again,) = take(drops, url, capsys)
    assert (again["state"], again["new"], again["duplicates"]) == ("known", 0, 0)
    assert "4 new readings" in (drops / "done" / "a.csv.report.txt").read_text()


def test_a_strange_name_or_file_does_not_stop_the_others(drops, web, url, capsys):
    latin = Path(os.fsdecode(os.fsencode(drops) + b"/a-M\xe4rz.csv"))
    latin.write_text(export(0, 4, "mill"))
    (drops / "b-copy.csv").write_text(export(0, 4, "mill"))
    Path(os.fsdecode(os.fsencode(drops) + b"/c-\xe4.csv")).write_text("nothing to read\n")
    (drops / ("d" * 245 + ".csv")).write_text(export(4, 4, "mill"))
    (drops / "z.csv").write_text(export(8, 4, "mill"))
    code, files = take(drops, url, capsys)
    assert code == 2
    assert [each["state"] for each in files] == ["done", "known", "failed", "done", "done"]
    assert files[0]["file"] == r"a-M\udce4rz.csv"
    assert Path(files[3]["report"]).read_text().startswith("d" * 245)
    assert [step for step, _ in stored(web, "mill")] == list(range(12))
    assert not latin.exists()


def test_a_file_that_cannot_be_opened_is_reported_and_the_next_one_taken(
    drops, web, url, capsys, monkeypatch
):
    (drops / "a.csv").write_text(export(0, 4, "mill"))
    (drops / "b.csv").write_text(export(4, 4, "mill"))

    def digest(file: Path) -> str:  # root, who may run the tests, can open every file
        if file.name == "a.csv":
            raise PermissionError(13, "Permission denied", str(file))
        return content_digest(file)

    monkeypatch.setattr("clearwatt.feeds.folder.content_digest", digest)
    code, (first, second) = take(drops, url, capsys)
    assert code == 2
    assert (first["state"], first["moved_to"], first["report"]) == ("failed", None, None)
    assert "Permission denied" in first["problems"][0]
    assert second["state"] == "done"


class CountingDelivery(Delivery):
    """Counts the files that are sent."""

    sent = 0

    def send(self, readings):
        self.sent += 1
        return super().send(readings)


def test_a_ledger_that_cannot_be_written_is_reported_once_and_nothing_is_sent_twice(
    drops, web, url, monkeypatch
):
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now, time=lambda: NOW)
    monkeypatch.setattr("clearwatt.feeds.folder.time", clock)
    (drops / "a.csv").write_text(export(0, 4, "mill"))
    path = drops / ".clearwatt" / "ledger.jsonl"
    path.mkdir(parents=True)  # root, who may run the tests, can write every file
    stop, attempts = StopRequest(), 0
    with closing(CountingDelivery(url, None, stop=stop, on_retry=print)) as delivery:
        feed = FolderFeed(
            DropFolder(drops, ["*.csv"], settle=0),
            Ledger(path),
            recipe=lambda: read_recipe(drops.parent / "recipe.toml"),
            delivery=delivery,
            stop=stop,
            settle=0,
        )
        monkeypatch.setattr(stop, "pause", lambda seconds: None)

        def digest(file: Path) -> str:
            nonlocal attempts
            attempts += 1
            return content_digest(file)

        monkeypatch.setattr("clearwatt.feeds.folder.content_digest", digest)
        looks, outcomes = feed.run(once=False), []
        for _ in range(1000):  # seconds
            now += 1
            while (outcome := next(looks)) is not None:
                outcomes.append(outcome)
        assert [each.moved_to for each in outcomes] == [None]
        (problem,) = outcomes[0].result.problems
        assert "the service has its readings" in problem
        assert f"{path} cannot be written (Is a directory)" in problem
        assert (delivery.sent, attempts) == (1, 11)
        path.rmdir()
        for _ in range(300):
            now += 1
            while (outcome := next(looks)) is not None:
                outcomes.append(outcome)
        assert (delivery.sent, outcomes[1].known) == (1, True)
    assert json.loads(path.read_text())["file"] == "a.csv"
    assert (drops / "done" / "a.csv").exists()


def test_a_content_counts_as_sent_for_its_service_only_and_can_be_sent_again(
    drops, web, url, capsys, tmp_path
):
    (tmp_path / "other").mkdir()
    other = Web(tmp_path / "other")
    other.register("mill")
    with listening(other) as second:
        for address, state in ((url, "done"), (second, "done"), (url + "/", "known")):
            (drops / "a.csv").write_text(export(0, 4, "mill"))
            _, (found,) = take(drops, address, capsys)
            assert found["state"] == state
        assert stored(other, "mill") == stored(web, "mill") != []
        (drops / "a.csv").write_text(export(0, 4, "mill"))
        _, (again,) = take(drops, second, capsys, "--again")
        assert (again["state"], again["duplicates"]) == ("done", 4)
    other.close()


def test_a_ledger_of_an_earlier_version_counts_for_any_service(drops, web, url, capsys):
    (drops / "a.csv").write_text(export(0, 4, "mill"))
    take(drops, url, capsys)
    ledger = drops / ".clearwatt" / "ledger.jsonl"
    entry = json.loads(ledger.read_text())
    del entry["service"]
    ledger.write_text(json.dumps(entry) + "\n")
    (drops / "a.csv").write_text(export(0, 4, "mill"))
    _, (found,) = take(drops, url, capsys)
    assert found["state"] == "known"


@pytest.mark.slow
def test_a_watcher_takes_files_as_they_come_and_survives_a_kill(drops, web, url, tmp_path):
    command = [sys.executable, "-m", "clearwatt", "feed", "folder", str(drops), "--url", url]
    command += ["--recipe", str(tmp_path / "recipe.toml"), "--settle", "0.1"]
    steps = 5500  # more than one request
    (drops / "a.csv").write_text(export(-steps, steps, "mill"))
    with (tmp_path / "notices").open("w") as notices:
        watcher = subprocess.Popen(command, stderr=notices)
        try:
            until(lambda: stored(web, "mill"), PATIENCE)
            watcher.kill()
            watcher.wait()
            watcher = subprocess.Popen(command, stderr=notices)
            until((drops / "done" / "a.csv").exists, PATIENCE)
            (drops / "b.csv").write_text(export(0, 4, "mill"))
            until((drops / "done" / "b.csv").exists, PATIENCE)
            watcher.send_signal(signal.SIGTERM)
            assert watcher.wait(timeout=PATIENCE) == 0
        finally:
            watcher.kill()
            watcher.wait()
    assert "b.csv: 4 new readings" in (tmp_path / "notices").read_text()
    assert len(stored(web, "mill")) == steps + 4


def test_the_recipe_and_the_folder_are_checked_at_once(drops, capsys):
    code = main(["feed", "folder", str(drops), "--recipe", str(drops / "none.toml"), "--once"])
    assert code == 2
    assert "none.toml does not exist" in capsys.readouterr().err
    recipe = str(drops.parent / "recipe.toml")
    assert main(["feed", "folder", str(drops / "x"), "--recipe", recipe, "--once"]) == 2
    assert "is not a folder" in capsys.readouterr().err
