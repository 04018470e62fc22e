"""Shell commands that README and docs/ print."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(console|bash|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPT = re.compile(r"[$#] ")


def page_commands(page: Path) -> list[str]:
    """The commands of a page, continued lines joined, without prompts, comments and output.

    A block with prompts has commands and what they print. One without prompts is a script, of
    which a function and its calls stay together as one command.
    """
    found: list[str] = []
    for kind, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        joined = re.sub(r"\\\n\s*", " ", block)
        lines = joined.splitlines()
        if any(map(_PROMPT.match, lines)) and kind == "console":
            lines = [_PROMPT.sub("", line, count=1) for line in lines if _PROMPT.match(line)]
        elif "() {" in joined:
            found.append(joined.strip())
            continue
        plain = [re.sub(r"\s#\s.*", "", line).strip() for line in lines]
        found += [part.strip() for line in plain for part in line.split("&&") if part.strip()]
    return found


def all_commands() -> list[str]:
    """Each command once, in the order of the pages."""
    return list(dict.fromkeys(each for page in PAGES for each in page_commands(page)))
