"""What a start takes, and who may start beside another."""

from pathlib import Path

import pytest
from tests.service.processes import spawned, until
from tests.service.running import PATIENCE, running

from clearwatt.cli import main
from clearwatt.service.client import Client


@pytest.mark.slow
def test_one_database_has_one_service_whatever_its_data_directory(postgres, tmp_path, capsys):
    database = ["--database", postgres]
    with running(tmp_path / "one", *database) as service:
        second = ["serve", "--data-dir", str(tmp_path / "two"), "--port", "0", *database]
        assert main(second) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("clearwatt: another service uses the postgresql database")
        assert said.err.count("\n") == 1
        with Client(service.url) as client:  # the first has not noticed
            assert client.status().zones == []
        check_is_light(service.process.pid)
        assert service.stop() == 0


def check_is_light(service: int) -> None:
    """Neither the service nor its learner loads what only experiments need: it takes seconds."""
    (learner,) = until(lambda: spawned(service), PATIENCE)
    until(lambda: "libtorch" in mapped(learner), PATIENCE)
    for heavy in ("site-packages/scipy/", "site-packages/sklearn/"):
        assert heavy not in mapped(service)
        assert heavy not in mapped(learner)


def mapped(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()
