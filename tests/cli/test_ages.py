"""Ages are hours, days or weeks, and nothing else."""

import pytest

from clearwatt.cli.ages import parse_age
from clearwatt.cli.main import build_parser, main
from clearwatt.service.vintage_retention import KEPT

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12h", 12 * HOUR), ("90d", 90 * DAY), ("2w", 14 * DAY), ("1h", HOUR), ("off", None)],
)
def test_an_age_is_a_number_and_a_unit(text, seconds):
    assert parse_age(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "90", "d", "0d", "-1d", "1.5d", "90 d", "90D", "1m", "nan", "inf", "Off", "٣d"]
)
def test_anything_else_is_refused_with_the_value_and_the_remedy(text, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["serve", "--data-dir", "live", f"--keep-vintages={text}"])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"argument --keep-vintages: {text!r} is not an age" in said
    assert "12h, 90d or 2w, or 'off' to keep all" in said


def test_the_default_is_that_of_the_service():
    options = build_parser().parse_args(["serve", "--data-dir", "live"])
    assert options.keep_vintages == KEPT
