import json

import pytest

from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_lines,
    print_tables,
    progress,
    rows_table,
)


def test_json_is_one_document_with_letters_as_they_are(capsys):
    print_json({"name": "Köln", "values": [1, None]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": "Köln", "values": [1, None]}
    assert "Köln" in out
    assert out.endswith("}\n")


def test_json_never_has_nan(capsys):
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"error": float("nan")})
    assert capsys.readouterr().out == ""


def test_lines_are_neither_wrapped_nor_read_as_markup(capsys):
    long = "[red]" + "x" * 500
    print_lines([long, "second"])
    assert capsys.readouterr().out == f"{long}\nsecond\n"


def test_facts_stand_beside_their_names(capsys):
    print_tables([facts_table("[b]grid", {"step_minutes": 15})])
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.strip() == "[b]grid"
    assert any(line.split("│")[1:3] == [" step minutes ", " 15 "] for line in lines)


def test_piped_rows_are_not_cut_at_eighty_columns(capsys):
    wide = "7" * 100
    print_tables([rows_table(["name", "value"], [["[i]a", wide]])])
    out = capsys.readouterr().out
    assert wide in out
    assert "[i]a" in out


def test_progress_leaves_stdout_alone(capsys):
    with progress("working"):
        pass
    assert capsys.readouterr().out == ""
