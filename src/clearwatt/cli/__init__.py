"""The command line: parse, call, print."""

from clearwatt.cli.main import main

__all__ = ["main"]
