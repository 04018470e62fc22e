from rich.console import Console

from clearwatt.data.sheets import Sheet, facts, html_table, terminal_table

SHEET = Sheet(
    "A [b]title",
    ("who", "ours", "theirs"),
    (("<i>", "1.0", "2.0"), ("  part", "0.5", "[red]")),
    note="a & b",
    strong=(0,),
    best=frozenset({(1, 1)}),
    aside=frozenset({2}),
)


def printed(sheet):
    console = Console(width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(terminal_table(sheet))
    return captured.get()


def test_the_terminal_prints_brackets_as_text_and_the_best_in_bold():
    lines = printed(SHEET).splitlines()
    assert "A [b]title" in "".join(lines)
    (part,) = [line for line in lines if "part" in line]
    assert "\x1b[1m0.5" in part.replace(" ", "")
    assert "[red]" in part


def test_html_escapes_cells_and_marks_what_stands_out():
    page = html_table(SHEET)
    assert '<td class="word">&lt;i&gt;</td>' in page
    assert "<td><b>0.5</b></td>" in page
    assert '<td class="aside">[red]</td>' in page
    assert "&emsp;part" in page
    assert page.count('<tr class="strong">') == 1
    assert "a &amp; b" in page


def test_facts_are_escaped():
    assert "<dt>a&lt;b</dt><dd>&amp;</dd>" in facts([("a<b", "&")])
