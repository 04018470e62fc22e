"""Parameters of an estimator's parts, such as `strategy__recent_updates`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Part = TypeVar("Part", bound=DataclassInstance)

SEPARATOR = "__"


def nested_parameters(name: str, part: object) -> dict[str, object]:
    """Fields of a dataclass as `name__field`, with those of dataclasses in it; else nothing."""
    if not is_dataclass(part):
        return {}
    found: dict[str, object] = {}
    for field in _fields(part):
        path, value = f"{name}{SEPARATOR}{field}", getattr(part, field)
        found |= {path: value, **nested_parameters(path, value)}
    return found


def replace_parameters(part: Part, values: Mapping[str, object]) -> Part:
    """The dataclass with some fields replaced, and fields in its fields by `field__inner`."""
    known = _fields(part)
    direct: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for path, value in values.items():
        field, _, rest = path.partition(SEPARATOR)
        if field not in known:
            raise ConfigurationError(
                f"{type(part).__name__} has no parameter {field!r}; it has {', '.join(known)}"
            )
        if rest:
            inner.setdefault(field, {})[rest] = value
        else:
            direct[field] = value
    for field, below in inner.items():
        value = direct.get(field, getattr(part, field))
        direct[field] = replace_parameters(require_part(field, value), below)
    return replace(part, **direct)


def require_part(name: str, value: object) -> DataclassInstance:
    """The value, if it has parameters."""
    if not is_dataclass(value) or isinstance(value, type):
        raise ConfigurationError(f"{name} is {value!r}, which has no parameters; set {name} first")
    return value


def _fields(part: DataclassInstance | type[DataclassInstance]) -> list[str]:
    return [each.name for each in fields(part) if each.init]
