"""Damage to a data directory is found, named with its remedy, and mended where possible."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch

from clearwatt.cli import main
from clearwatt.files import MANIFEST, save_state
from clearwatt.service.cluster.move import copy_folders
from clearwatt.service.files import Checkpoints, ModelFiles, entity_owner
from clearwatt.service.records import READING
from clearwatt.service.store import StoreDamagedError, open_store

from .application import Web
from .plant import Plant
from .processes import until
from .running import PATIENCE, get, running

PAGE = 4096


@pytest.fixture
def data_dir(tmp_path):
    """A data directory with readings, models and two checkpoints."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    plant = Plant(folder)
    plant.deploy()
    for column in range(3):
        plant.readings(column, 900 * np.arange(1_000_000, 1_004_000), np.arange(4000.0) % 40)
    plant.store.close()
    for position in (1, 2):
        Checkpoints(folder).write("north", position, lambda path: save_state(path / "zone", {}, {}))
    return folder


def examine(data_dir: Path, capsys, *options: str) -> tuple[int, list[dict]]:
    code = main(["doctor", "--data-dir", str(data_dir), "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def damage_pages(database: Path, count: int = 10) -> None:
    """Overwrite pages of a database behind those of its schema, as a dying disk would."""
    pages = database.stat().st_size // PAGE
    with database.open("r+b") as file:
        for page in np.linspace(pages // 2, pages - 2, count).astype(int):
            file.seek(int(page) * PAGE)
            file.write(os.urandom(PAGE))


def test_a_sound_directory_has_no_damage(data_dir, capsys):
    assert examine(data_dir, capsys) == (0, [])
    assert main(["doctor", "--data-dir", str(data_dir)]) == 0
    assert "nothing" in capsys.readouterr().out


def test_a_damaged_checkpoint_is_named_and_set_aside(data_dir, capsys):
    newest = next(Checkpoints(data_dir).newest("north"))
    manifest = data_dir / newest.path / "zone" / MANIFEST
    manifest.write_text(manifest.read_text().replace("clearwatt", "clearwatx"))
    code, (found,) = examine(data_dir, capsys)
    assert (code, found["mended"]) == (2, False)
    assert "checkpoint 2 of zone north" in found["what"]
    code, (found,) = examine(data_dir, capsys, "--mend")
    assert (code, found["mended"]) == (0, True)
    assert [each.position for each in Checkpoints(data_dir).newest("north")] == [1]
    assert examine(data_dir, capsys) == (0, [])


def test_a_damaged_model_is_learned_again_from_the_journal(data_dir, capsys):
    next((data_dir / "models").glob("predictor*e1*/*.safetensors")).write_bytes(b"rot")
    code, (found,) = examine(data_dir, capsys)
    assert code == 2
    assert found["what"] == "model predictor:e1:0"
    assert examine(data_dir, capsys, "--mend")[0] == 0
    assert list(Checkpoints(data_dir).newest("north")) == []


def test_a_mended_model_of_an_earlier_release_is_looked_for_where_it_is_learned(data_dir, capsys):
    next((data_dir / "models").glob("predictor*e1*/*.safetensors")).write_bytes(b"rot")
    assert examine(data_dir, capsys, "--mend")[0] == 0
    with closing(open_store(data_dir / "clearwatt.db")) as store:
        (entity,) = (each for each in store.entities() if each.id == "e1")
        version = store.version("predictor:e1:0")
        content = {"w": torch.ones(2)}
        owner = entity_owner(entity.number)
        files = ModelFiles(data_dir)
        assert version.path == files.write(version.id, {}, content, owner=owner)


def test_an_index_is_built_again(data_dir, capsys):
    with closing(sqlite3.connect(data_dir / "clearwatt.db")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, '(zone, number)', '(zone, id)') "
            "WHERE name = 'entities_zone'"
        )
        connection.commit()
    code, (found,) = examine(data_dir, capsys)
    assert (code, found["what"]) == (2, "the database")
    assert examine(data_dir, capsys, "--mend")[0] == 0
    assert examine(data_dir, capsys) == (0, [])


def test_an_open_directory_is_closed(data_dir, capsys):
    data_dir.chmod(0o755)
    assert "chmod 700" in examine(data_dir, capsys)[1][0]["reason"]
    assert examine(data_dir, capsys, "--mend")[0] == 0
    assert data_dir.stat().st_mode & 0o777 == 0o700


def test_a_damaged_database_is_neither_backed_up_nor_restored(data_dir, tmp_path, capsys):
    saved = tmp_path / "saved"
    assert main(["backup", "--data-dir", str(data_dir), "--to", str(saved)]) == 0
    damage_pages(data_dir / "clearwatt.db")
    code, (found,) = examine(data_dir, capsys.readouterr() and capsys, "--mend")
    assert (code, found["what"], found["mended"]) == (2, "the database", False)
    assert "restore" in found["remedy"]
    assert main(["backup", "--data-dir", str(data_dir), "--to", str(tmp_path / "b")]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
    damaged = saved / "store" / "clearwatt.db"
    damage_pages(damaged)
    manifest = json.loads((saved / "backup.json").read_text())
    manifest["sha256"].pop("store/clearwatt.db")  # as if it was damaged before the backup
    (saved / "backup.json").write_text(json.dumps(manifest))
    assert main(["restore", str(saved), "--data-dir", str(tmp_path / "new")]) == 2
    assert "use another backup" in capsys.readouterr().err
    assert list((tmp_path / "new").iterdir()) == []


def test_a_service_with_a_damaged_database_is_not_ready_and_names_the_remedy(data_dir):
    damage_pages(data_dir / "clearwatt.db")
    with running(data_dir) as service:
        answer = until(
            lambda: (
                (found := get(f"{service.url}/readyz")).status_code == 503
                and "damaged" in found.text
                and found
            ),
            PATIENCE,
        )
    assert "clearwatt doctor" in " ".join(answer.json()["reasons"])


def test_requests_that_meet_damage_are_answered_with_the_remedy(data_dir):
    damage_pages(data_dir / "clearwatt.db", 60)
    store = open_store(data_dir / "clearwatt.db")
    web = Web(data_dir, store=store)
    try:
        query = "entity=e1&start=1998-07-10T00:00:00Z&end=1998-08-20T00:00:00Z"
        assert "clearwatt doctor" in web.refused(503, "GET", f"/v1/measurements?{query}")
        assert web.ask("GET", "/readyz").status_code == 503
        readings = np.zeros(4000, READING)
        readings["time"] = 900 * np.arange(1_000_000, 1_004_000)
        with pytest.raises(StoreDamagedError):
            store.add_readings(readings, at=1.0)
    finally:
        web.close()


def test_a_damaged_checkpoint_of_a_cluster_is_found_in_its_database(data_dir, capsys):
    with closing(open_store(data_dir / "clearwatt.db")) as store:
        copy_folders(data_dir, store)
        for name in ("models", "zones"):
            shutil.rmtree(data_dir / name, ignore_errors=True)
        assert examine(data_dir, capsys) == (0, [])
        with store.write_session() as session:
            where = "parent = 'zones/north' AND name = 'checkpoint-2'"
            session.run(f"UPDATE folders SET checksum = 'x' WHERE {where}")
    code, (found,) = examine(data_dir, capsys)
    assert (code, found["mended"]) == (2, False)
    assert "checkpoint 2 of zone north" in found["what"]
    assert "damaged in the database" in found["reason"]
    code, (found,) = examine(data_dir, capsys, "--mend")
    assert (code, found["mended"]) == (0, True)
    assert examine(data_dir, capsys) == (0, [])
