"""Text files of exports: encoding, separator, and their cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.errors import ConfigurationError
from clearwatt.imports.log import ImportLog
from clearwatt.imports.numbers import looks_like_number
from clearwatt.imports.recipe import SEPARATORS, Recipe
from clearwatt.imports.sizes import check_lines
from clearwatt.imports.time_text import looks_like_date, looks_like_time, serial_hint

_EIGHT_BIT = {"cp1252": "Western Europe", "cp1250": "Central Europe"}
_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_SAMPLE = 200
_LONGEST = 100_000  # characters of a sampled line; the module csv refuses longer cells
_SHOWN = 60  # characters of a line in a message
_BREAKS = b"\n\x0b\x0c\r\x1c\x1d\x1e"
_MOST = 0.8  # share of the sampled lines that must have the form of a table


def read_cells(path: Path, recipe: Recipe, log: ImportLog) -> pd.DataFrame | None:
    """The cells of a text file, as text; None if there is no table in it.

    Row ``i`` is line ``i + 1`` of the file.
    """
    text = _decode(path, recipe, log)
    lines = text.splitlines()
    separator = recipe.separator or _separator(path, lines, log)
    if separator is None:
        return None
    widths = [1 + line.count(separator) for line in lines]
    check_lines(path.name, widths)
    try:
        cells = _split_cells(text, separator, max(widths, default=1))
    except pd.errors.ParserError as error:
        reason = " ".join(str(error).split())
        wrong = f"its cells cannot be told apart ({reason}); look for a quotation mark without end"
        log.report(DataFault(path.name, wrong))
        return None
    return cells.apply(_strip)


def count_cells(path: Path, recipe: Recipe) -> int:
    """About how many cells a text file has, at most, without making a table of it."""
    raw = path.read_bytes()
    marks = {recipe.separator or ";", *SEPARATORS.values()}
    lines = len(raw) - len(raw.translate(None, _BREAKS)) - raw.count(b"\r\n")
    return lines + max(raw.count(mark.encode()) for mark in marks)


def _split_cells(text: str, separator: str, width: int) -> pd.DataFrame:
    return pd.read_csv(
        io.StringIO(text),
        sep=separator,
        header=None,
        names=range(width),
        index_col=False,
        dtype=str,
        keep_default_na=False,
        na_filter=False,
        skip_blank_lines=False,
        skipinitialspace=True,
        engine="c",
        low_memory=False,
    ).fillna("")


def _strip(column: pd.Series) -> pd.Series:
    """Cells without surrounding blanks, and without the ="…" that protects text from Excel."""
    codes, unique = pd.factorize(column)  # each different text once
    texts = [str(text).strip(" \t\u00a0\u202f") for text in unique]
    texts = [text[2:-1] if text[:2] == '="' and text[-1:] == '"' else text for text in texts]
    return pd.Series(np.array(texts, dtype=object)[codes], index=column.index)


def _decode(path: Path, recipe: Recipe, log: ImportLog) -> str:
    raw = path.read_bytes()
    if recipe.encoding is not None:
        try:
            return raw.decode(recipe.encoding).removeprefix("\ufeff")
        except (ValueError, LookupError) as error:  # codecs raise more than UnicodeDecodeError
            raise ConfigurationError(
                f"{path} cannot be read as {recipe.encoding!r} ({error}); give another --encoding"
            ) from error
    for mark, encoding in _MARKS.items():
        if raw.startswith(mark):
            log.decide("encoding", encoding.removesuffix("-sig"), "byte-order mark of the file")
            return raw.decode(encoding, errors="replace")
    if b"\0" in raw[:200]:
        encoding = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
        log.decide("encoding", encoding, "every second byte is zero")
        return raw.decode(encoding, errors="replace")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_eight_bit(path, raw, log)
    if not text.isascii():  # plain ASCII says nothing about tomorrow's file
        log.decide("encoding", "utf-8", "all bytes are valid")
    return text


def _decode_eight_bit(path: Path, raw: bytes, log: ImportLog) -> str:
    """Text of a file that is not UTF-8; asked if the usual code pages read it differently."""
    texts = {name: raw.decode(name, errors="replace") for name in _EIGHT_BIT}
    western, central = texts.values()
    if western == central:
        log.decide("encoding", "cp1252", "not UTF-8; the usual code pages read the same")
        return western
    words = {name: _foreign_words(text) for name, text in texts.items()}
    log.ask(
        "encoding",
        f"{path.name} is not UTF-8, and its letters depend on the code page",
        {name: f"{_EIGHT_BIT[name]}: {', '.join(found)}" for name, found in words.items()},
    )
    return western


def _foreign_words(text: str) -> list[str]:
    """The first words with letters beyond ASCII."""
    found = dict.fromkeys(re.findall(r"\w*[^\x00-\x7f\u00a0]+\w*", text[:100_000]))
    return list(found)[:3]


def _separator(path: Path, lines: Sequence[str], log: ImportLog) -> str | None:
    """The separator with which the lines are rows of a time and values."""
    if lines and (found := re.match(r"sep=(.)$", lines[0].strip('"'))):
        log.decide("separator", _name(found[1]), "the file's first line")
        return found[1]
    sample = [line for line in lines[: 2 * _SAMPLE] if line.strip(" ;,\t|")]
    usual = [mark for mark in ";,\t|" if _is_table(sample, mark)]
    possible = usual or [mark for mark in " " if _is_table(sample, mark)]
    if len(possible) == 1:
        log.decide("separator", _name(possible[0]), "the rows have times and numbers with it only")
        return possible[0]
    if possible:
        choices = {_name(mark): f"{len(_split(sample, mark)[-1])} columns" for mark in possible}
        log.ask(
            "separator", f"the columns of {path.name} can be separated in several ways", choices
        )
        return possible[0]
    check = "check the file, or give --separator"
    line = f", in lines such as {sample[-1][:_SHOWN]!r}" if sample else ""
    wrong = f"no rows of times and numbers are found{line}; {serial_hint(sample) or check}"
    log.report(DataFault(path.name, wrong, row=1))
    return None


def _is_table(lines: Sequence[str], separator: str) -> bool:
    """Whether most lines, from the first reading on, are readings with as many cells."""
    rows = _split(lines, separator)
    readings = [_is_reading(row) for row in rows]
    if not any(readings):
        return False
    first = readings.index(True)
    width, _ = Counter(map(len, rows[first:])).most_common(1)[0]
    pairs = zip(readings[first:], rows[first:], strict=True)
    fitting = [is_reading and len(row) == width for is_reading, row in pairs]
    return width > 1 and sum(fitting) >= _MOST * len(fitting)


def _is_reading(row: Sequence[str]) -> bool:
    """Whether a row has a time and a value, and no cell that still has a separator in it."""
    dates = sum(looks_like_date(cell) for cell in row)
    others = [cell for cell in row if not (looks_like_date(cell) or looks_like_time(cell))]
    clean = not any(mark in cell for cell in row for mark in ";\t|")
    return bool(dates) and clean and any(not cell or looks_like_number(cell) for cell in others)


def _split(lines: Sequence[str], separator: str) -> list[list[str]]:
    short = (line[:_LONGEST] for line in lines)
    rows = csv.reader(short, delimiter=separator, skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in rows]


def _name(separator: str) -> str:
    return next((name for name, mark in SEPARATORS.items() if mark == separator), separator)
