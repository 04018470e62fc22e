"""What an import understood, what it must be told, and the faults it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from clearwatt.data.data_faults import DataFault

VARIES = "varies"
"""Value of a decision that differs between files."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that was understood: a key of the recipe, its value, and how it is known."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that the files leave open; ``choices`` maps values to what they would mean.

    Without choices, any text that the recipe accepts is an answer.
    """

    key: str
    text: str
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def option(self) -> str:
        """The option of the command that answers the question."""
        return "--" + {"time_columns": "time-column", "name_columns": "name-column"}.get(
            self.key, self.key.replace("_", "-")
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {"option": self.option, "question": self.text, "choices": dict(self.choices)}


@dataclass(frozen=True, slots=True)
class ImportLog:
    """Collects decisions, questions and faults of one import; each decision and question once."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    faults: list[DataFault] = field(default_factory=list)

    def decide(self, key: str, value: object, reason: str) -> None:
        """Record what was understood; a key with different values in different files is marked."""
        known = self.decisions.setdefault(key, Decision(key, str(value), reason))
        if known.value != str(value):
            self.decisions[key] = Decision(key, VARIES, "each file has its own")

    def ask(self, key: str, text: str, choices: Mapping[str, str] | None = None) -> None:
        """Record a question; the first of a key counts."""
        self.questions.setdefault(key, Question(key, text, choices or {}))

    def report(self, fault: DataFault) -> None:
        """Record a fault; the same fault in the same file is counted, its first row kept."""
        for at, other in enumerate(self.faults):
            same = (other.place, other.wrong, other.repaired)
            if same == (fault.place, fault.wrong, fault.repaired):
                first = min(other, fault, key=lambda each: each.row or 0)
                self.faults[at] = replace(first, count=other.count + fault.count)
                return
        self.faults.append(fault)

    @property
    def fatal(self) -> list[DataFault]:
        """The faults that are not repaired."""
        return [fault for fault in self.faults if not fault.repaired]
