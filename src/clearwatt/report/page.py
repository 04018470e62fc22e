"""HTML pages in one file each: Jinja2 templates, figures for plotly, no network access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from clearwatt.files import write_text_atomically
from clearwatt.report.plots import Figure


@dataclass(frozen=True, slots=True)
class FigureChoice:
    """Figures of many names, of which a page shows one name's at a time.

    ``parts`` names the figures of each name (``figures[name]`` has one per part); ``first`` is
    the name shown when the page opens.
    """

    parts: tuple[str, ...]
    figures: Mapping[str, tuple[Figure, ...]]
    first: str

    @property
    def boxes(self) -> tuple[str, ...]:
        """The ids of the elements that show the figures, one per part."""
        return tuple(f"{part}-box" for part in self.parts)

    @property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        """The keys of each name's figures, one per part."""
        return {
            name: tuple(f"{part}-{at}" for part in self.parts)
            for at, name in enumerate(self.figures)
        }


@dataclass(frozen=True, slots=True)
class PageFigures:
    """The figures of one page by key; templates register the figures that they place."""

    by_key: dict[str, Figure] = field(default_factory=dict)

    def add(self, figure: Figure) -> str:
        """Register a figure and return its key."""
        key = f"figure-{len(self.by_key)}"
        self.by_key[key] = figure
        return key

    def add_choice(self, choice: FigureChoice) -> Mapping[str, tuple[str, ...]]:
        """Register all figures of a choice and return their keys by name."""
        for name, keys in choice.keys.items():
            self.by_key.update(zip(keys, choice.figures[name], strict=True))
        return choice.keys

    def json(self) -> Markup:
        """The figures as JSON for a script element."""
        text = json.dumps(self.by_key, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # "<" could end the script element; JSON allows to write it as an escape everywhere.
        return Markup(text.replace("<", "\\u003c"))


def write_page(
    path: str | Path,
    template: str,
    content: Mapping[str, object],
    *,
    package: str = "clearwatt.report",
) -> None:
    """Write a page; the file appears complete or not at all.

    Args:
        path: the HTML file to write.
        template: name of a template that extends ``page.html``.
        content: variables of the template; ``name``, ``lead`` and ``links`` make the header.
        package: the package whose folder ``templates`` has the template.
    """
    # Imported here because it reads megabytes that nothing else needs.
    from plotly.offline import get_plotlyjs

    page = environment(package).get_template(template)
    library = Markup(get_plotlyjs())
    write_text_atomically(
        path, page.render({**content, "figures": PageFigures(), "library": library}) + "\n"
    )


def environment(package: str = "clearwatt.report") -> Environment:
    """A Jinja2 environment with the templates of a package and of this one; it escapes all."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("clearwatt.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["indent_cell"] = indent_cell
    return made


def indent_cell(cell: str) -> Markup:
    """A cell with its leading blanks as em spaces; HTML would drop the blanks."""
    text = cell.lstrip(" ")
    return Markup("&emsp;") * ((len(cell) - len(text)) // 2) + escape(text)
