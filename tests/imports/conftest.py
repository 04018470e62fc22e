"""Running the import as a user does, and comparing its readings with the truth."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from clearwatt.cli import main
from clearwatt.data.time_table import read_table

Import = Callable[..., pd.DataFrame]


@pytest.fixture
def import_files(tmp_path, capsys) -> Import:
    """Import to the folder ``out`` of the test, and return the readings in it."""

    def run(*words: object) -> pd.DataFrame:
        out = tmp_path / "out"
        code = main(["data", "import", *map(str, words), "--out", str(out), "--json"])
        printed = capsys.readouterr()
        assert code == 0, printed.err + printed.out
        return read_table(out / "power.parquet")

    return run


@pytest.fixture
def refuse_import(tmp_path, capsys) -> Callable[..., str]:
    """Import what cannot be imported, and return the sentence about it."""

    def run(*words: object) -> str:
        out = tmp_path / "refused"
        assert main(["data", "import", *map(str, words), "--out", str(out), "--json"]) == 2
        error = capsys.readouterr().err
        assert not out.exists()
        assert error.count("\n") == 1
        return error

    return run
