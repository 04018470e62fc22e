"""``clearwatt simulate``: the same bytes for the same seed, and nothing overwritten by mistake."""

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.checksums import digests

from clearwatt.cli import main


class TestSimulate:
    SMALL = ("--entities", "4", "--steps", "800")

    def run(self, out: Path, capsys, *more: str) -> dict[str, object]:
        assert main(["simulate", "--out", str(out), *self.SMALL, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    def test_same_seed_same_checksums(self, tmp_path, capsys):
        first = self.run(tmp_path / "a", capsys, "--seed", "7")
        second = self.run(tmp_path / "b", capsys, "--seed", "7")
        other = self.run(tmp_path / "c", capsys, "--seed", "8")
        assert first["sha256"] == second["sha256"]
        assert first["sha256"] == digests(tmp_path / "a")
        assert first["sha256"]["power.parquet"] != other["sha256"]["power.parquet"]
        assert first["entities"] == 4
        assert first["steps"] == 800

    def test_prints_a_summary_and_a_checksum_per_file(self, tmp_path, capsys):
        assert main(["simulate", "--out", str(tmp_path / "a"), *self.SMALL]) == 0
        out = capsys.readouterr().out
        for name, digest in digests(tmp_path / "a").items():
            assert f"{digest}  {tmp_path / 'a' / name}" in out

    def test_drifts_can_be_switched_off_and_scaled(self, tmp_path, capsys):
        drifts = ["soiling", "degradation"]
        self.run(tmp_path / "all", capsys)
        self.run(tmp_path / "less", capsys, "--without", *drifts, "--scale", "tariff=0.5")
        logged = pd.read_csv(tmp_path / "all" / "drift.csv")["what"]
        left = pd.read_csv(tmp_path / "less" / "drift.csv")["what"]
        assert set(logged) - set(left) == set(drifts) & set(logged)

    def test_the_same_command_twice_is_no_mistake(self, tmp_path, capsys):
        first = self.run(tmp_path / "a", capsys, "--seed", "7")
        written = (tmp_path / "a" / "power.parquet").stat().st_mtime_ns
        assert self.run(tmp_path / "a", capsys, "--seed", "7") == first
        assert (tmp_path / "a" / "power.parquet").stat().st_mtime_ns == written

    def test_refuses_to_overwrite_another_data_set(self, tmp_path, capsys):
        self.run(tmp_path / "a", capsys)
        before = digests(tmp_path / "a")
        assert main(["simulate", "--out", str(tmp_path / "a"), *self.SMALL, "--seed", "1"]) == 2
        assert "--overwrite" in capsys.readouterr().err
        assert digests(tmp_path / "a") == before
        self.run(tmp_path / "a", capsys, "--seed", "1", "--overwrite")
        assert digests(tmp_path / "a") != before

    def test_refuses_a_folder_of_other_things_before_simulating(self, tmp_path, capsys):
        (tmp_path / "thesis.tex").write_text("years of work")
        assert main(["simulate", "--out", str(tmp_path), "--overwrite"]) == 2
        assert "thesis.tex" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--entities", "0"], "entities"),
            (["--steps", "1000000000000"], "before the end of 2100"),
            (["--entities", "few"], "invalid int value: 'few'"),
            (["--seed", "-1"], "seed"),
            (["--without", "rapture"], "'rapture'"),
            (["--scale", "outage"], "DRIFT=FACTOR"),
            (["--scale", "outage=-1"], "outage"),
            (["--scale", "outage=2", "--without", "outage"], "both"),
            (["--colour", "red"], "--colour"),
        ],
    )
    def test_mistakes_are_told_in_one_sentence(self, options, says, tmp_path, capsys):
        try:
            code = main(["simulate", "--out", str(tmp_path / "a"), *options])
        except SystemExit as stopped:
            code = stopped.code
        err = capsys.readouterr().err
        assert code == 2
        assert err.startswith("clearwatt: ")
        assert err.count("\n") == 1
        assert says in err
        assert not (tmp_path / "a").exists()


def test_a_file_where_a_folder_should_go(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    out = str(tmp_path / "file" / "grid")
    assert main(["simulate", "--out", out, "--entities", "1", "--steps", "200"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
