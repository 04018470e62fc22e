import sys

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.own_code import is_own, load_object, short_name, source_version, source_versions


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory that Python does not search yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_an_object_of_a_package_in_the_working_directory_is_found(here):
    (here / "research").mkdir()
    (here / "research" / "ideas.py").write_text("def best(): return 7\n")
    assert load_object("research.ideas:best")() == 7
    assert is_own("research.ideas:best") and not is_own("Ra")
    assert short_name("research.ideas:best") == "best" and short_name("Ra") == "Ra"


def test_a_file_does_not_take_the_place_of_an_installed_module(here):
    (here / "json.py").write_text("dumps = None\n")
    monkey = load_object("json:dumps")
    assert monkey is not None and monkey({}) == "{}"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("absent.module:Name", "there is no module 'absent' for 'absent.module:Name'; start the"),
        ("lame:Name", "'lame' cannot be imported for 'lame:Name': No module named 'a_lacking_one'"),
        ("broken:Name", "'broken' cannot be imported for 'broken:Name': ZeroDivisionError"),
        ("whole:Name", "module 'whole' has no 'Name'; it has first, second"),
        ("bare:Name", "module 'bare' has no 'Name'; it defines nothing"),
        ("whole:", "'whole:' names no object of a module; write package.module:name"),
        ("a/b.py:Name", "'a/b.py:Name' names no object of a module"),
    ],
)
def test_mistakes_are_told_with_a_remedy(path, says, here):
    (here / "lame.py").write_text("import a_lacking_one\n")
    (here / "broken.py").write_text("1 / 0\n")
    (here / "whole.py").write_text(
        "def second(): ...\ndef first(): ...\nfrom os.path import join\n"
    )
    (here / "bare.py").write_text("")
    with pytest.raises(ConfigurationError) as error:
        load_object(path)
    assert says in str(error.value)


def test_a_change_of_the_source_changes_its_version(here):
    (here / "idea.py").write_text("A = 1\n")
    before = source_version("idea:A")
    assert source_versions("Ra", None, "idea:A") == {"idea": before}
    (here / "idea.py").write_text("A = 2\n")
    assert source_version("idea:A") != before


def test_a_folder_without_a_file_has_no_version(here):
    (here / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="is a folder without __init__"):
        source_version("folder:A")
