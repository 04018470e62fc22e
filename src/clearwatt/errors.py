"""One root for every error a user can cause; each says what was wrong and what to do."""


class ClearwattError(Exception):
    """Root of all errors ClearWatt raises on purpose; the command line exits with 2 on it."""


class DataError(ClearwattError, ValueError):
    """A data set, file or array that cannot be used as it is."""


class ConfigurationError(ClearwattError, ValueError):
    """A parameter or option outside what it may be."""


class StateError(ClearwattError, RuntimeError):
    """A saved state that is damaged, incomplete or from another version."""


class OfflineError(ClearwattError, OSError):
    """Something must be downloaded and cannot be."""


class MissingExtraError(ClearwattError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'clearwatt[{extra}]'")
