"""Objects of a user's own modules, by "package.module:name"."""

from __future__ import annotations

import hashlib
import importlib
import sys
from pathlib import Path
from types import ModuleType

from clearwatt.errors import ConfigurationError


def is_own(name: str) -> bool:
    """Whether a name is that of an object in a module."""
    return ":" in name


def short_name(path: str) -> str:
    """The name without its module; a name without a module is returned as it is."""
    return path.rpartition(":")[2]


def load_object(path: str) -> object:
    """Import "package.module:name"; modules in the working directory are found as well."""
    module, _, name = path.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise ConfigurationError(
            f"{path!r} names no object of a module; write package.module:name, such as "
            "research.strategies:MyStrategy"
        )
    imported = _import(module, path)
    try:
        return getattr(imported, name)
    except AttributeError as error:
        own = [key for key, value in vars(imported).items() if _is_defined_in(value, module)]
        there = f"it has {', '.join(sorted(own))}" if own else "it defines nothing"
        raise ConfigurationError(f"module {module!r} has no {name!r}; {there}") from error


def source_version(path: str) -> str:
    """Hash of the source file of a path's module, to notice changes of the code."""
    module = path.partition(":")[0]
    file = _import(module, path).__file__
    if file is None:
        raise ConfigurationError(
            f"module {module!r} of {path!r} is a folder without __init__.py; name a file in it"
        )
    return f"sha256 {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"


def source_versions(*paths: str | None) -> dict[str, str]:
    """Version of the source of each module among the paths; names of built-ins are left out."""
    own = [path for path in paths if path is not None and is_own(path)]
    return {path.partition(":")[0]: source_version(path) for path in own}


def _import(module: str, path: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:  # last, so that no file here takes the place of an installed module
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise ConfigurationError(
                f"there is no module {error.name!r} for {path!r}; start the command in the folder "
                "that has it, or install it"
            ) from error
        raise ConfigurationError(f"{module!r} cannot be imported for {path!r}: {error}") from error
    except Exception as error:
        raise ConfigurationError(
            f"{module!r} cannot be imported for {path!r}: {type(error).__name__}: {error}"
        ) from error


def _is_defined_in(value: object, module: str) -> bool:
    """Whether a class or function is the module's own, not imported there."""
    return callable(value) and getattr(value, "__module__", None) == module
