"""``clearwatt data``: figures on stdout, one sentence about what is wrong with a data set."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.checksums import digests

from clearwatt.cli import main


def replaced(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


def without_lines(*numbers: int) -> Callable[[str], str]:
    return lambda text: "".join(
        line for n, line in enumerate(text.splitlines(keepends=True)) if n not in numbers
    )


def first_lines(count: int) -> Callable[[str], str]:
    return lambda text: "".join(text.splitlines(keepends=True)[:count])


def swapped_lines(first: int, second: int) -> Callable[[str], str]:
    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        lines[first], lines[second] = lines[second], lines[first]
        return "".join(lines)

    return edit


def without_cells(column: int) -> Callable[[str], str]:
    def edit(text: str) -> str:
        header, *lines = text.splitlines()
        rows = [line.split(",") for line in lines]
        emptied = [",".join([*row[:column], "", *row[column + 1 :]]) for row in rows]
        return "\n".join([header, *emptied]) + "\n"

    return edit


@dataclass(frozen=True)
class Bad:
    """One thing wrong with one file: the edit, and what the sentence must name."""

    what: str
    file: str
    edit: Callable[[str], str]
    column: str
    row: int | None
    says: str


POWER_0030 = "2024-01-01T00:30:00+00:00"
BAD_INPUTS = [
    Bad("duplicate time", "power.csv", replaced("T00:30", "T00:15"), "time", 3, "duplicate.*keep"),
    Bad("unordered times", "power.csv", swapped_lines(3, 5), "time", 4, "unordered.*sort"),
    Bad("missing time", "power.csv", without_lines(3), "time", 3, "not uniform.*insert"),
    Bad("uneven weather", "weather.csv", replaced("T02:00", "T02:10"), "time", 3, "not uniform"),
    Bad("naive times", "power.csv", lambda t: t.replace("+00:00", ""), "time", 1, "naive.*UTC"),
    Bad(
        "one naive time",
        "power.csv",
        replaced(POWER_0030, POWER_0030[:-6]),
        "time",
        3,
        "mixed time zones.*UTC",
    ),
    Bad(
        "another zone",
        "power.csv",
        replaced(POWER_0030, "2024-01-01T05:30:00+05:00"),
        "time",
        3,
        "mixed time zones.*UTC",
    ),
    Bad("no time", "power.csv", replaced(POWER_0030, "soon"), "time", 3, "no time.*write it as"),
    Bad("empty time", "weather.csv", replaced("2024-01-01T02:00:00+00:00", ""), "time", 3, "no ti"),
    Bad("infinite power", "power.csv", replaced(",2.5,", ",inf,"), "park", 3, "infinite.*empty"),
    Bad("too large", "power.csv", replaced(",2.5,", ",1e39,"), "park", 3, "infinite.*empty"),
    Bad("infinite weather", "weather.csv", replaced(",200", ",-inf"), "town__ghi_wm2", 3, "infin"),
    Bad("text in power", "power.csv", replaced(",2.5,", ",off,"), "park", 3, "not a number.*point"),
    Bad(
        "text in weather", "weather.csv", replaced("1.25", '"1,25"'), "town__temperature_c", 2, "n"
    ),
    Bad("unknown kind", "entities.csv", replaced("consumer", "eater"), "kind", 2, "'eater'.*use"),
    Bad("no capacity", "entities.csv", replaced("12.5", "0"), "capacity", 1, "above zero.*empty"),
    Bad("negative", "entities.csv", replaced("12.5", "-3"), "capacity", 1, "above zero.*empty"),
    Bad("text capacity", "entities.csv", replaced("12.5", "big"), "capacity", 1, "'big'.*empty"),
    Bad("capacity nan", "entities.csv", replaced("12.5", "nan"), "capacity", 1, "'nan'.*empty"),
    Bad("uncovered", "weather.csv", first_lines(3), "park", 9, "without weather cover.*add"),
    Bad("uncovered start", "weather.csv", without_lines(1, 2), "park", 1, "without weather cover"),
    Bad(
        "unknown zone", "entities.csv", replaced("2.5,town", "2.5,hill"), "zone", 1, "'hill'.*town"
    ),
    Bad("no reading", "power.csv", without_cells(2), "house", 1, "empty series.*leave"),
    Bad("no rows", "power.csv", first_lines(1), "time", 1, "empty series"),
    Bad("one row", "power.csv", first_lines(2), "time", 1, "empty series"),
    Bad("no weather rows", "weather.csv", first_lines(1), "time", 1, "empty series"),
    Bad("no weather", "weather.csv", without_cells(2), "town__ghi_wm2", 1, "empty series.*leave"),
    Bad("no time column", "power.csv", replaced("time", "date"), "time", None, "name the column"),
    Bad("semicolons", "power.csv", lambda t: t.replace(",", ";"), "time", None, "commas"),
    Bad("column twice", "power.csv", replaced("house", "park"), "park", None, "duplicate.*keep"),
    Bad("unnamed zone", "weather.csv", replaced("town__g", "g"), "ghi_wm2", None, "<zone>__"),
    Bad("no such entity", "entities.csv", without_lines(2), "house", None, "add a row"),
    Bad(
        "no such column", "power.csv", replaced(",house", ",home"), "entity", 2, "add the readings"
    ),
    Bad("entity twice", "entities.csv", replaced("house", "park"), "entity", 2, "duplicate.*keep"),
    Bad("nameless", "entities.csv", replaced("house", ""), "entity", 2, "choose another name"),
    Bad("missing column", "entities.csv", replaced("capacity", "size"), "capacity", None, "add it"),
    Bad("short row", "entities.csv", replaced(",town,pv", ""), "entity", 1, "3 cells under 5"),
]


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=lambda bad: bad.what)
def test_bad_input_is_told_in_one_sentence_and_left_alone(bad, csv_folder, capsys):
    file = csv_folder / bad.file
    file.write_text(bad.edit(file.read_text()))
    before = digests(csv_folder)
    assert main(["data", "check", str(csv_folder)]) == 2
    out, err = capsys.readouterr()
    assert main(["data", "describe", str(csv_folder), "--json"]) == 2
    described = capsys.readouterr()
    assert described.out == ""
    assert described.err.removeprefix("clearwatt: ") in err
    assert (out == "") == (described.err == err)
    assert err.startswith("clearwatt: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert bad.file.split(".")[0] in err
    assert f"column '{bad.column}'" in err
    assert bad.row is None or f"row {bad.row}" in err
    assert re.search(bad.says, err), err
    assert digests(csv_folder) == before


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "power.csv").unlink(), r"no power\.parquet or power\.csv; add"),
        (lambda f: (f / "entities.csv").unlink(), r"no entities\.csv; add"),
        (lambda f: (f / "power.parquet").write_bytes(b""), "both .* keep one"),
        (lambda f: (f / "power.csv").write_bytes(b""), "not a readable CSV"),
        (lambda f: (f / "power.csv").write_bytes(b"time,park\n\xff,1\n"), "UTF-8"),
        (lambda f: (f / "power.csv").write_text("time,a\n1,2\n1,2,3,4\n"), "not a readable CSV"),
        (
            lambda f: (f / "power.csv").rename(f / "power.parquet"),
            "not a readable Parquet file; write it again",
        ),
        (
            lambda f: (f / "drift.csv").write_text(
                "what,entity,start,end,strength,description\noutage,park,2024,,1,x\n"
            ),
            r"drift\.csv, column 'start', row 1 \(outage\).*'2024'.*offset",
        ),
        (
            lambda f: (f / "drift.csv").write_text(
                "what,entity,start,end,strength,description\noutage,park,2024-01-01T00Z,,nan,x\n"
            ),
            r"drift\.csv, column 'strength', row 1 \(outage\).*nan.*finite",
        ),
        (
            lambda f: (f / "drift.csv").write_text(
                "what,entity,start,end,strength,description\noutage,park,2024-01-01T00Z,,big,x\n"
            ),
            r"drift\.csv, column 'strength', row 1 \(outage\).*'big'.*number",
        ),
        (
            lambda f: (f / "dataset.json").write_text('{"timezone": "Mars/Olympus"}'),
            r"dataset\.json: unknown time zone 'Mars/Olympus'",
        ),
        (
            lambda f: (f / "dataset.json").write_text('{"colour": "red"}'),
            r"dataset\.json: its keys are not timezone and unit; write",
        ),
        (lambda f: (f / "dataset.json").write_text("[]"), r"dataset\.json: its keys are not"),
    ],
    ids=[
        "no power",
        "no entities",
        "both",
        "empty",
        "latin",
        "ragged",
        "not parquet",
        "drift time",
        "drift not finite",
        "drift not a number",
        "unknown zone of time",
        "unknown convention",
        "no conventions",
    ],
)
def test_damaged_folders_are_told_in_one_sentence(spoil, says, csv_folder, capsys):
    spoil(csv_folder)
    assert main(["data", "check", str(csv_folder)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.search(says, err), err


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (pd.date_range("2024-01-01", periods=12, freq="15min"), "row 1 .*naive.*UTC"),
        (list(range(12)), "column 'time', row 1"),
        (
            pd.date_range("9999-01-01T00:00Z", periods=12, freq="15min", unit="us"),
            "column 'time', row 1 .*no time can be read",
        ),
    ],
    ids=["naive", "numbers", "beyond nanoseconds"],
)
def test_parquet_times_that_cannot_be_used(values, says, csv_folder, capsys):
    table = pd.read_csv(csv_folder / "power.csv").assign(time=values)
    (csv_folder / "power.csv").unlink()
    table.to_parquet(csv_folder / "power.parquet")
    assert main(["data", "check", str(csv_folder)]) == 2
    assert re.search(says, capsys.readouterr().err)


def test_check_lists_all_faults(csv_folder, capsys):
    power = csv_folder / "power.csv"
    lines = power.read_text().splitlines()
    lines[3] = lines[3].replace("2.5", "off")
    lines[4] = lines[4].replace("3.5", "off")
    lines[8] = lines[7]
    power.write_text("\n".join(lines) + "\n")
    entities = csv_folder / "entities.csv"
    entities.write_text(entities.read_text().replace("12.5", "big").replace("house", "home"))
    (csv_folder / "weather.csv").unlink()
    assert main(["data", "check", str(csv_folder)]) == 2
    out, err = capsys.readouterr()
    assert "has 7 faults" in err
    assert err.count("\n") == 1
    assert "no weather.parquet or weather.csv" in err
    assert main(["data", "check", str(csv_folder), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    found = {
        (Path(each["file"]).name, each["column"], each["first_row"], each["count"])
        for each in document["faults"]
    }
    assert found == {
        ("grid", None, None, 1),
        ("entities.csv", "capacity", 1, 1),
        ("entities.csv", "entity", 2, 1),
        ("power.csv", "park", 3, 2),
        ("power.csv", "time", 8, 1),
        ("power.csv", "time", 9, 1),
        ("power.csv", "house", None, 1),
    }
    assert all(name in out for name in ("park", "capacity", "duplicate", "not uniform"))


def test_check_of_a_good_folder(csv_folder, capsys):
    assert main(["data", "check", str(csv_folder)]) == 0
    assert "in order" in capsys.readouterr().out
    assert main(["data", "check", str(csv_folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] is True
    assert facts["entities"] == 2
    assert facts["step_minutes"] == 15
    assert facts["missing_share"] == 0


def test_names_are_printed_as_they_are(csv_folder, capsys):
    odd = csv_folder.rename(csv_folder.with_name("[red]grid"))
    assert main(["data", "check", str(odd)]) == 0
    assert "[red]grid" in capsys.readouterr().out


def test_list_shows_the_catalogue(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path))
    assert main(["data", "list"]) == 0
    assert "gefcom2012-wind" in capsys.readouterr().out
    assert main(["data", "list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [(e["name"], e["cached"]) for e in entries] == [
        ("gefcom2012-wind", False),
        ("gefcom2012-load", False),
    ]


def test_get_of_an_unknown_name(capsys):
    assert main(["data", "get", "gefcom1999"]) == 2
    assert re.search(r"^clearwatt: .*'gefcom1999'.*choose from", capsys.readouterr().err)


def test_describe_prints_and_draws(csv_folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["data", "describe", str(csv_folder), "--html", str(page)]) == 0
    assert "park" in page.read_text()
    assert str(page) in capsys.readouterr().out
    assert main(["data", "describe", str(csv_folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
