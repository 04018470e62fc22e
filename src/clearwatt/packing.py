"""Packing: dataclasses and named tuples as plain values and tensors, and back, by type hints.

Plain values go to JSON, arrays and tensors to safetensors. A tensor is named by its path:
``novelty.rows`` is the field ``rows`` of the field ``novelty``, ``members.0.bias`` the entry
``bias`` of the first of ``members``. A field that consists of tensors only has no plain value;
if it is optional, it is None when none of its tensors is there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from clearwatt.errors import StateError

T = TypeVar("T")
ADDED: Mapping[str, bool] = MappingProxyType({"added": True})
"""Metadata of a field that nodes of an earlier release do not know: it is saved only if it differs
from its default, so that these can read all that does not need it. The default must never change.
"""
Values = dict[str, Any]
Tensors = dict[str, Tensor]
_ARRAYS = (np.ndarray, Tensor)
_VALUES = "values.json"
"""Name of the tensor that holds the plain values among the others."""
_CHECKED = b"clearwatt checked 1\n"
"""Beginning of content with a checksum; no safetensors file begins like that."""
_SEQUENCES = (list, tuple, set, frozenset)


class Packed(NamedTuple):
    """Plain values, as JSON has them, and tensors by name."""

    values: Values
    tensors: Tensors


def pack(value: object) -> Packed:
    """A dataclass or named tuple as plain values and tensors; a tensor is not copied."""
    place = _TensorPath({})
    values = _pack_record(value, place)
    return Packed(values, place.tensors or {})


def unpack(kind: type[T], values: Mapping[str, object], tensors: Mapping[str, Tensor]) -> T:
    """The opposite of `pack`: an instance of this class, with copies of the tensors.

    A field that was not saved gets its default. A field without one, or an unknown key, raises a
    StateError. A value that is of its field's class already is taken as it is.
    """
    return _unpack_record(kind, values, _TensorPath(dict(tensors)))


def to_bytes(value: object) -> bytes:
    """A dataclass or named tuple as one piece, for another process or a database."""
    packed = pack(value)
    text = json.dumps(packed.values).encode()
    values = {_VALUES: torch.frombuffer(bytearray(text), dtype=torch.uint8)}
    return with_checksum(
        save(values | {name: each.contiguous() for name, each in packed.tensors.items()})
    )


def from_bytes(kind: type[T], content: bytes) -> T:
    """The opposite of `to_bytes`; a StateError if the content is damaged."""
    return unpack(kind, *read_bytes(content))


def read_bytes(content: bytes) -> Packed:
    """The plain values and tensors that `to_bytes` wrote; a StateError if they are damaged."""
    try:
        tensors = load(verify_checksum(content))
        values = json.loads(tensors.pop(_VALUES).numpy().tobytes())
    except (SafetensorError, KeyError, ValueError) as error:
        raise StateError(f"the content cannot be read ({error!r}); it is damaged") from error
    if not isinstance(values, dict):
        raise StateError(f"the content is a {type(values).__name__}, not a record; it is damaged")
    return Packed(values, tensors)


def with_checksum(content: bytes) -> bytes:
    """Content with a checksum before it."""
    return _CHECKED + crc32(content).to_bytes(4, "little") + content


def verify_checksum(content: bytes) -> bytes:
    """The content without its checksum; a StateError if that differs.

    Content of earlier releases has none.
    """
    if not content.startswith(_CHECKED):
        return content
    start = len(_CHECKED) + 4
    if crc32(content[start:]).to_bytes(4, "little") != content[len(_CHECKED) : start]:
        raise StateError("the content is altered (its checksum differs); it is damaged")
    return content[start:]


def to_plain(value: object) -> Values:
    """Like `pack`, as JSON values only: arrays become lists."""
    return _pack_record(value, _TensorPath(None))


def from_plain(kind: type[T], values: Mapping[str, object]) -> T:
    """The opposite of `to_plain`."""
    return _unpack_record(kind, values, _TensorPath(None))


def tensors_below(tensors: Mapping[str, Tensor], prefix: str) -> Tensors:
    """The tensors whose name starts with a prefix, without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """The tensors with a prefix before each name."""
    return {f"{prefix}{name}": tensor for name, tensor in tensors.items()}


class _TensorPath(NamedTuple):
    """A path among the tensors; without tensors, arrays are plain lists."""

    tensors: Tensors | None
    path: str = ""

    def below(self, name: object) -> _TensorPath:
        return _TensorPath(self.tensors, f"{self.path}.{name}" if self.path else str(name))

    @property
    def names(self) -> list[str]:
        """Names of the tensors below, relative to this path."""
        return list(tensors_below(self.tensors or {}, f"{self.path}." if self.path else ""))

    @property
    def has_tensors(self) -> bool:
        return self.path in (self.tensors or ()) or bool(self.names)


class _Hint(NamedTuple):
    """A type hint: its class (object for Any, Literal and unions), parameters, `| None` or not."""

    kind: type
    args: tuple[object, ...]
    optional: bool

    @classmethod
    def of(cls, hint: object) -> _Hint:
        if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
            others = [each for each in get_args(hint) if each is not NoneType]
            return cls.of(others[0] if len(others) == 1 else object)._replace(optional=True)
        origin = get_origin(hint) or hint
        return cls(origin if isinstance(origin, type) else object, get_args(hint), False)

    @property
    def only_tensors(self) -> bool:
        """Whether values of this type consist of tensors, so that they need no plain value."""
        if _is_record(self.kind):
            return all(each.hint.only_tensors for each in _fields(self.kind))
        if issubclass(self.kind, Mapping | list | tuple):
            entries = [each for each in self.args if each is not ...]
            return bool(entries) and _Hint.of(entries[-1]).only_tensors
        return self.kind in _ARRAYS

    @property
    def dtype(self) -> type | None:
        """The scalar type of an array type such as NDArray[np.float32]; None: as it was saved."""
        scalar = get_args(self.args[1])[0] if len(self.args) == 2 else None
        return scalar if isinstance(scalar, type) and scalar is not np.generic else None


class _Field(NamedTuple):
    name: str
    hint: _Hint
    required: bool
    added: bool = False
    default: object = None


_FIELDS: dict[type, tuple[_Field, ...]] = {}


def _fields(kind: type) -> tuple[_Field, ...]:
    """The fields of a dataclass or named tuple; looked up once per class."""
    if kind not in _FIELDS:
        _FIELDS[kind] = _read_fields(kind)
    return _FIELDS[kind]


def _read_fields(kind: type) -> tuple[_Field, ...]:
    hints = get_type_hints(kind)
    defaults: dict[str, object] = {}
    if is_dataclass(kind):
        own = [each for each in fields(kind) if each.init]
        names = [each.name for each in own]
        required = {
            each.name for each in own if each.default is MISSING and each.default_factory is MISSING
        }
        defaults = {each.name: each.default for each in own if each.metadata.get("added")}
    else:
        names = list(getattr(kind, "_fields", ()))
        required = set(names) - getattr(kind, "_field_defaults", {}).keys()
    return tuple(
        _Field(name, _Hint.of(hints[name]), name in required, name in defaults, defaults.get(name))
        for name in names
    )


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _pack(value: object, place: _TensorPath) -> object:
    """A value as JSON has it; its arrays and tensors are put in their place."""
    if isinstance(value, _ARRAYS):
        return _pack_array(value, place)
    if _is_record(type(value)):
        return _pack_record(value, place)
    if isinstance(value, Mapping):
        return {name: _pack(each, place.below(name)) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(each, place.below(number)) for number, each in enumerate(value)]
    return _pack_scalar(value)


def _pack_record(value: object, place: _TensorPath) -> Values:
    packed = {
        each.name: (each.hint, _pack(getattr(value, each.name), place.below(each.name)))
        for each in _fields(type(value))
        if not (each.added and _is_default(getattr(value, each.name), each.default))
    }
    return {
        name: each
        for name, (hint, each) in packed.items()
        if place.tensors is None or not hint.only_tensors
    }


def _is_default(value: object, default: object) -> bool:
    return value is default or (isinstance(value, int | float) and value == default)


def _pack_array(value: npt.NDArray[np.generic] | Tensor, place: _TensorPath) -> object:
    if place.tensors is None:
        return value.tolist()
    array = value if isinstance(value, Tensor) else torch.from_numpy(value.copy())
    place.tensors[place.path] = array
    return None


def _pack_scalar(value: object) -> object:
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    return sorted(value) if isinstance(value, set | frozenset) else value


def _unpack(hint: _Hint, value: object, place: _TensorPath) -> object:
    """What `_pack` took apart, as a type hint says."""
    if value is None and hint.optional and not place.has_tensors:
        return None
    if hint.kind in _ARRAYS:
        return _unpack_array(hint, value, place)
    if _is_record(hint.kind):
        is_one = isinstance(value, hint.kind)
        return value if is_one else _unpack_record(hint.kind, _mapping(value), place)
    if issubclass(hint.kind, Mapping):
        return _unpack_mapping(hint, value, place)
    if issubclass(hint.kind, _SEQUENCES):
        return _unpack_sequence(hint, value, place)
    return _unpack_scalar(hint.kind, value)


def _unpack_record(kind: type[T], values: Mapping[str, object], place: _TensorPath) -> T:
    parts: Values = {}
    for name, hint, required, *_ in _fields(kind):
        own = place.below(name)
        if not required and hint.kind in _ARRAYS and name not in values and not own.has_tensors:
            continue
        if name in values or (place.tensors is not None and hint.only_tensors):
            parts[name] = _unpack(hint, values.get(name), own)
        elif required:
            raise StateError(f"the saved {kind.__name__} is incomplete: {own.path} is missing")
    unknown = sorted(values.keys() - parts.keys())
    if unknown:
        raise StateError(f"the saved {kind.__name__} has an unknown entry {unknown[0]!r}")
    return kind(**parts)


def _unpack_array(
    hint: _Hint, value: object, place: _TensorPath
) -> npt.NDArray[np.generic] | Tensor:
    if place.tensors is None:
        return torch.tensor(value) if hint.kind is Tensor else np.array(value, hint.dtype)
    if place.path not in place.tensors:
        raise StateError(f"the saved state is incomplete: the tensor {place.path} is missing")
    # A copy, so that alignment, and with it rounding, is torch's or numpy's.
    found = place.tensors[place.path].clone()
    return found if hint.kind is Tensor else found.numpy().astype(hint.dtype or None, copy=False)


def _unpack_mapping(hint: _Hint, value: object, place: _TensorPath) -> dict[str | int, object]:
    key, entry = hint.args or (str, object)
    own, values = _Hint.of(entry), _mapping(value)
    names = values if value is not None else _keys(own, place)
    return {
        int(name) if key is int else name: _unpack(own, values.get(name), place.below(name))
        for name in names
    }


def _unpack_sequence(hint: _Hint, value: object, place: _TensorPath) -> object:
    entries = hint.args or (object, ...)
    first = _Hint.of(entries[0])
    values = value if isinstance(value, Collection) else [None] * len(_keys(first, place))
    several = hint.kind is tuple and entries[-1] is not ...
    hints = [_Hint.of(each) for each in entries] if several else [first] * len(values)
    found = [
        _unpack(own, each, place.below(number))
        for number, (own, each) in enumerate(zip(hints, values, strict=True))
    ]
    return hint.kind(found) if hint.kind in (list, set, frozenset) else tuple(found)


def _keys(entry: _Hint, place: _TensorPath) -> list[str]:
    """Keys of the entries below a place; only those of tensors may have dots."""
    if entry.kind in _ARRAYS:
        return place.names
    return list(dict.fromkeys(name.partition(".")[0] for name in place.names))


def _unpack_scalar(kind: type, value: object) -> object:
    if issubclass(kind, np.random.Generator):
        generator = np.random.default_rng(0)
        generator.bit_generator.state = _mapping(value)
        return generator
    return kind(value) if issubclass(kind, Enum) else value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
