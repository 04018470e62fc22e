"""Errors with one root class; each message says what was wrong and what to do."""

from numbers import Integral


class ClearwattError(Exception):
    """Root of all errors that ClearWatt raises; the command line exits with 2."""


class DataError(ClearwattError, ValueError):
    """A data set, file or array that cannot be used."""


class ConfigurationError(ClearwattError, ValueError):
    """A parameter or option with an invalid value."""


class StateError(ClearwattError, RuntimeError):
    """A saved state that is damaged, incomplete or from another version."""


class OfflineError(ClearwattError, OSError):
    """A download is needed but impossible."""


class MissingExtraError(ClearwattError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'clearwatt[{extra}]'")


def require_whole(**values: object) -> None:
    """Raise a ConfigurationError for a value that is not a whole number of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
            raise ConfigurationError(f"{name} is {value}; it must be a whole number of at least 1")
