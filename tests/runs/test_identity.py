import numpy as np

from clearwatt import __version__
from clearwatt.runs.identity import data_facts, digest, machine, versions


def test_a_digest_depends_on_content_and_not_on_the_order_of_keys():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1, "b": 2}) != digest({"a": 2, "b": 1})
    assert digest("a", "b") != digest("b", "a")
    assert len(digest()) == 20


def test_a_digest_is_the_same_in_every_release():
    assert digest("run", {"seed": 0}) == "b92b7d3f30d079504c0b"


def test_versions_are_those_installed():
    found = versions()
    assert (found["clearwatt"], found["numpy"]) == (__version__, np.__version__)


def test_a_machine_is_described_without_names():
    found = machine()
    assert found.keys() == {"cores", "memory_gb"}
    assert found["memory_gb"] > 0


def test_a_data_set_is_described_by_its_time_range(dataset):
    assert data_facts(dataset) == {
        "name": "grid",
        "steps": 12,
        "start": "2024-01-01T00:00:00+00:00",
        "end": "2024-01-01T02:45:00+00:00",
        "step_minutes": 15.0,
    }
