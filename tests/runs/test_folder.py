"""The folder of a run: whose it is, and what is in it after an interruption."""

import json

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.runs.folder import RunFolder

ABOUT = {"experiment": {"seed": 0, "phases": (1, 2)}, "data": {"name": "d"}, "versions": {"t": "1"}}


def open_run(path, **changes):
    return RunFolder.open(path, {**ABOUT, **changes}, "identity")


def test_a_document_comes_back_and_a_damaged_one_does_not(tmp_path):
    with open_run(tmp_path / "run") as folder:
        key = folder.key("task")
        assert folder.read("kind", key) is None
        folder.write("kind", key, {"a": [1]})
        assert folder.read("kind", key) == {"a": [1]}
        (tmp_path / "run" / "kind" / f"{key}.json").write_text("{")
        assert folder.read("kind", key) is None


def test_keys_depend_on_the_run_and_on_every_part(tmp_path):
    keys = {
        RunFolder(tmp_path, identity).key(*parts)
        for identity in ("a", "b")
        for parts in (("x",), ("y",), ("x", "y"))
    }
    assert len(keys) == 6


def test_the_same_run_goes_on_and_leftovers_of_a_kill_are_removed(tmp_path):
    with open_run(tmp_path):
        (tmp_path / "kind").mkdir()
        (tmp_path / "kind" / ".x.json.1.part").write_text("{")
    with open_run(tmp_path):
        assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"experiment": {"seed": 1, "phases": (1, 2)}}, "experiment.seed is 0 there and 1 here"),
        ({"experiment": {"seed": 0}}, r"experiment.phases is \[1, 2\] there and None here"),
        ({"data": {"name": "e"}}, "data.name is 'd' there and 'e' here"),
        ({"versions": {"t": "2"}}, r"other versions \(t is '1' there and '2' here"),
    ],
)
def test_another_run_is_refused_and_the_difference_named(tmp_path, changes, says):
    with open_run(tmp_path):
        before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(ConfigurationError, match=says), open_run(tmp_path, **changes):
        pass
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is a file"), open_run(tmp_path / "file"):
        pass


def test_what_belongs_to_something_else_is_refused(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(ConfigurationError, match="something other than a run"), open_run(tmp_path):
        pass
