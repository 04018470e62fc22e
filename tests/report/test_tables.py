from rich.console import Console

from clearwatt.report.tables import TextTable, markdown_table, markdown_text, terminal_table

TABLE = TextTable(
    "A [b]title",
    ("name", "ours", "theirs"),
    (("<i>", "1.0", "2.0"), ("  part", "0.5", "[red]")),
    note="a & b",
    strong=(0,),
    best=frozenset({(1, 1)}),
    aside=frozenset({2}),
)


def printed(table):
    console = Console(width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(terminal_table(table))
    return captured.get()


def test_the_terminal_prints_brackets_as_text_and_the_best_in_bold():
    lines = printed(TABLE).splitlines()
    assert "A [b]title" in "".join(lines)
    (part,) = [line for line in lines if "part" in line]
    assert "\x1b[1m0.5" in part.replace(" ", "")
    assert "[red]" in part


def test_markdown_has_a_line_for_each_row_with_only_the_mean_in_bold():
    table = TextTable("t", ("a|b", "n"), (("x_y", "0.5 (0.1)"),), best=frozenset({(0, 1)}))
    assert markdown_table(table).splitlines() == [
        "| a|b | n |",
        "|:---|---:|",
        "| x\\_y | **0.5** (0.1) |",
    ]


def test_markdown_text_escapes_what_would_be_markup():
    assert markdown_text("a|b_c*<i>`") == "a\\|b\\_c\\*\\<i>\\`"
