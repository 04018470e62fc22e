from importlib.resources import files

from clearwatt.experiment.report import paper
from clearwatt.experiment.report.palette import COLOURS, colour


def test_every_row_of_the_paper_has_a_colour_of_its_own():
    rows = paper.PREDICTOR.rows
    assert len({colour(row) for row in rows}) == len(rows)
    assert colour("another") not in COLOURS.values()


def test_every_colour_is_defined_for_the_light_and_the_dark_theme():
    folder = files("clearwatt.experiment.report") / "templates"
    style = (folder / "experiment.css").read_text(encoding="utf-8")
    for variable in COLOURS.values():
        name = variable.removeprefix("var(").removesuffix(")")
        assert style.count(f"{name}:") == 2, name
