"""Topics of a feed: an MQTT filter with names in it, as ``site/{zone}/{entity}/power``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clearwatt.errors import ConfigurationError

_NAMES = ("zone", "entity")


@dataclass(frozen=True)
class TopicPattern:
    """A topic with levels ``{zone}`` and ``{entity}``, and MQTT's wildcards ``+`` and ``#``."""

    text: str

    def __post_init__(self) -> None:
        levels = self.text.split("/")
        for level in levels:
            if "{" in level or "}" in level:
                if level.strip("{}") not in _NAMES or level != f"{{{level.strip('{}')}}}":
                    raise ConfigurationError(
                        f"topic {self.text!r} has the level {level!r}; a level is {{zone}}, "
                        "{entity}, + or plain text"
                    )
                if levels.count(level) > 1:
                    raise ConfigurationError(f"topic {self.text!r} has {level} twice; keep one")
            elif level not in {"+", "#"} and ("+" in level or "#" in level):
                raise ConfigurationError(
                    f"topic {self.text!r} has the level {level!r}; + and # stand alone in a level"
                )
        if not self.text or "#" in levels[:-1]:
            raise ConfigurationError(f"topic {self.text!r} is not one; # is its last level only")

    @property
    def filter(self) -> str:
        """The filter to subscribe to."""
        return re.sub(r"\{\w+\}", "+", self.text)

    def names(self) -> set[str]:
        """Which of zone and entity the topic has."""
        return {name for name in _NAMES if f"{{{name}}}" in self.text.split("/")}

    def match(self, topic: str) -> Mapping[str, str] | None:
        """The names in a topic; None if it does not match."""
        wanted, given = self.text.split("/"), topic.split("/")
        if wanted[-1] == "#":
            wanted = wanted[:-1]
            given = given[: len(wanted)] if len(given) >= len(wanted) else given
        if len(wanted) != len(given):
            return None
        found: dict[str, str] = {}
        for level, text in zip(wanted, given, strict=True):
            if level.startswith("{"):
                found[level.strip("{}")] = text
            elif level not in ("+", text):
                return None
        return found


def match_first(patterns: Sequence[TopicPattern], topic: str) -> Mapping[str, str] | None:
    """The names in a topic by the first pattern that matches it."""
    for pattern in patterns:
        if (found := pattern.match(topic)) is not None:
            return found
    return None
