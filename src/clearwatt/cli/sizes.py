"""Sizes on the command line: how much memory something may have, such as ``4G``."""

from __future__ import annotations

import argparse
import re

_BYTES = {"M": 10**6, "G": 10**9}
_SIZE = re.compile(r"([1-9][0-9]{0,5}(?:\.[0-9]{1,3})?)([MG])", re.ASCII)


def parse_size(text: str) -> int:
    """Bytes of a size such as 800M or 2.5G."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size; give megabytes or gigabytes as in 800M or 2.5G"
        )
    return round(float(found[1]) * _BYTES[found[2]])
