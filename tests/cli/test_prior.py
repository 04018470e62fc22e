"""``clearwatt prior``: a file to start entities without history from."""

import json

import pytest
from tests.service.fleets import small_prior

from clearwatt.adaptive import AdaptiveForecaster, FleetPrior
from clearwatt.cli import main
from clearwatt.data import simulate_grid
from clearwatt.service.store import open_store


@pytest.fixture
def grid(tmp_path):
    dataset = simulate_grid(entities=5, steps=2000)
    dataset.save(tmp_path / "grid")
    return dataset


def test_a_prior_is_trained_and_shown(grid, tmp_path, capsys):
    out = tmp_path / "region.prior"
    without = grid.names[0]
    words = ["prior", "train", str(tmp_path / "grid"), "--out", str(out), "--without", without]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    trained = json.loads(captured.out)
    assert main(["prior", "show", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == trained
    assert trained["source"] == "grid"
    assert sum(kind["entities"] for kind in trained["kinds"] if " " not in kind["kind"]) <= 4
    assert "entities" in captured.err
    prior = FleetPrior.load(out)
    kind = next(iter(prior.kinds))
    forecaster = AdaptiveForecaster.from_prior(prior, kinds=[kind], sizes=[10.0], at=0, day=96)
    assert forecaster.versions[0].fleet
    assert main(["prior", "show", str(out)]) == 0
    assert "error on a new entity" in capsys.readouterr().out


def test_what_is_no_prior_is_refused(tmp_path, capsys):
    (tmp_path / "other").write_text("no prior")
    assert main(["prior", "show", str(tmp_path / "other")]) == 2
    assert "no fleet prior" in capsys.readouterr().err


def test_a_prior_goes_from_one_data_directory_to_another(tmp_path, capsys):
    file, out = tmp_path / "region.prior", tmp_path / "out.prior"
    small_prior().save(file)
    open_store(tmp_path / "clearwatt.db").close()
    directory = ["--data-dir", str(tmp_path)]
    for _ in range(2):
        assert main(["prior", "import", str(file), *directory, "--json"]) == 0
        (stored,) = json.loads(capsys.readouterr().out)
        assert (stored["number"], stored["digest"]) == (1, small_prior().digest)
    assert main(["prior", "list", *directory]) == 0
    assert "wind, sun" in capsys.readouterr().out
    assert main(["prior", "export", "--out", str(out), "--number", "1", *directory]) == 0
    assert out.read_bytes() == file.read_bytes()
    assert main(["prior", "export", "--out", str(out), "--number", "2", *directory]) == 2
    assert "the service has no prior 2; there are: 1" in capsys.readouterr().err


def test_a_damaged_prior_is_not_imported(tmp_path, capsys):
    content = bytearray(small_prior().to_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    assert main(["prior", "import", str(tmp_path / "damaged"), "--data-dir", str(tmp_path)]) == 2
    assert "checksum" in capsys.readouterr().err
