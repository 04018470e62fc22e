"""Dataclasses survive being packed to JSON values and tensors, whatever they are made of."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from clearwatt.errors import StateError
from clearwatt.packing import (
    ADDED,
    from_bytes,
    from_plain,
    pack,
    read_bytes,
    tensors_below,
    to_bytes,
    to_plain,
    unpack,
    verify_checksum,
    with_prefix,
)


class Colour(Enum):
    RED = "red"


class Rows(NamedTuple):
    rows: npt.NDArray[np.int64]
    targets: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Inner:
    size: int
    colour: Colour = Colour.RED
    mode: Literal["a", "b"] = "a"


@dataclass(frozen=True, eq=False)
class Scale:
    mean: npt.NDArray[np.float64]


@dataclass(eq=False)
class Outer:
    name: str | int | None
    inner: Inner
    maybe: Inner | None
    samples: Rows
    history: Rows | None
    params: dict[str, Tensor]
    members: list[dict[str, Tensor]]
    parts: tuple[Inner, ...]
    pair: tuple[int, str]
    by_number: dict[int, Inner]
    names: set[str]
    rng: np.random.Generator
    flags: npt.NDArray[np.bool_]
    other: dict[str, Any] = field(default_factory=dict)


def outer(**changes):
    parts = {
        "name": "a",
        "inner": Inner(1),
        "maybe": None,
        "samples": Rows(np.arange(3), np.ones(3, np.float32)),
        "history": None,
        "params": {"layers.0.bias": torch.ones(2), "weight": torch.zeros(1, 2)},
        "members": [{"a": torch.ones(1)}, {"a": torch.zeros(1)}],
        "parts": (Inner(2), Inner(3, mode="b")),
        "pair": (1, "x"),
        "by_number": {4: Inner(4)},
        "names": {"b", "a"},
        "rng": np.random.default_rng(3),
        "flags": np.array([True, False]),
        "other": {"free": [1, {"x": None}]},
    }
    return Outer(**parts | changes)


def through(value):
    values, tensors = pack(value)
    return unpack(type(value), json.loads(json.dumps(values)), tensors)


def test_everything_comes_back():
    before = outer(maybe=Inner(9), history=Rows(np.arange(2)))
    expected = before.rng.bit_generator.state
    after = through(before)
    for name in ("name", "inner", "maybe", "parts", "pair", "by_number", "names", "other"):
        assert getattr(after, name) == getattr(before, name)
    np.testing.assert_array_equal(after.samples.targets, before.samples.targets)
    np.testing.assert_array_equal(after.history.rows, before.history.rows)
    assert after.history.targets is None
    assert after.params.keys() == before.params.keys()
    assert torch.equal(after.params["layers.0.bias"], before.params["layers.0.bias"])
    assert [each["a"].item() for each in after.members] == [1.0, 0.0]
    assert after.rng.bit_generator.state == expected
    assert after.flags.dtype == np.bool_


def test_absent_parts_come_back_as_none():
    after = through(outer(name=None, params={}, members=[]))
    assert (after.name, after.maybe, after.history) == (None, None, None)
    assert (after.params, after.members) == ({}, [])


def test_tensors_are_named_by_their_path_and_need_no_plain_value():
    values, tensors = pack(outer())
    assert sorted(tensors) == [
        "flags",
        "members.0.a",
        "members.1.a",
        "params.layers.0.bias",
        "params.weight",
        "samples.rows",
        "samples.targets",
    ]
    assert not {"samples", "history", "params", "members", "flags"} & values.keys()
    assert values["maybe"] is None


def test_unpacked_arrays_are_copies():
    before = outer()
    values, tensors = pack(before)
    after = unpack(Outer, values, tensors)
    tensors["params.weight"] += 1
    tensors["samples.rows"] += 1
    assert after.params["weight"].sum() == 0
    assert after.samples.rows[0] == 0


def test_a_missing_value_or_tensor_is_a_state_error():
    values, tensors = pack(outer())
    with pytest.raises(StateError, match="saved Outer is incomplete: pair is missing"):
        unpack(Outer, {k: v for k, v in values.items() if k != "pair"}, tensors)
    with pytest.raises(StateError, match=r"tensor samples\.rows is missing"):
        unpack(Outer, values, {k: v for k, v in tensors.items() if k != "samples.rows"})
    assert unpack(Outer, {k: v for k, v in values.items() if k != "other"}, tensors).other == {}


def test_an_unknown_entry_is_a_state_error():
    with pytest.raises(StateError, match="saved Inner has an unknown entry 'colours'"):
        from_plain(Inner, {"size": 1, "colours": 2})


def test_plain_values_hold_arrays_as_lists():
    values = json.loads(json.dumps(to_plain(Scale(np.array([0.1, 2.0])))))
    assert values == {"mean": [0.1, 2.0]}
    assert from_plain(Scale, values).mean.dtype == np.float64


def test_numbers_of_numpy_become_plain():
    assert json.dumps(to_plain(Inner(np.int64(3)))) == '{"size": 3, "colour": "red", "mode": "a"}'


def test_a_value_that_is_of_its_class_already_is_taken_as_it_is():
    inner = Inner(5)
    values, tensors = pack(outer())
    assert unpack(Outer, {**values, "inner": inner}, tensors).inner is inner


def test_prefixes_are_added_and_removed():
    tensors = {"a": torch.ones(1), "b.c": torch.zeros(1)}
    assert tensors_below(with_prefix("x.", tensors) | {"y": torch.ones(1)}, "x.") == tensors


def test_one_piece_of_bytes_has_values_and_tensors():
    rows = Rows(np.array([3, 1]), np.array([0.5], np.float32))
    back = from_bytes(Rows, to_bytes(rows))
    np.testing.assert_array_equal(back.rows, rows.rows)
    np.testing.assert_array_equal(back.targets, rows.targets)
    assert from_bytes(Inner, to_bytes(Inner(4, mode="b"))) == Inner(4, mode="b")


def test_damaged_bytes_are_a_state_error():
    content = to_bytes(Rows(np.arange(5)))
    with pytest.raises(StateError, match="damaged"):
        from_bytes(Rows, content[:-3])


def test_a_bit_that_changed_is_found():
    content = bytearray(to_bytes(Rows(np.arange(5))))
    content[-1] ^= 1
    with pytest.raises(StateError, match="checksum differs"):
        from_bytes(Rows, bytes(content))


def test_bytes_of_an_earlier_release_have_no_checksum():
    content = verify_checksum(to_bytes(Rows(np.arange(5))))
    np.testing.assert_array_equal(from_bytes(Rows, content).rows, np.arange(5))


@dataclass(frozen=True)
class Extended:
    """A record to which a later release has added two fields."""

    name: str
    share: float = field(default=0.0, metadata=ADDED)
    more: Rows | None = field(default=None, metadata=ADDED)


def test_an_added_field_is_saved_only_if_it_is_needed():
    """Nodes of the release before refuse what they do not know."""
    assert to_plain(Extended("a")) == {"name": "a"}
    assert read_bytes(to_bytes(Extended("a"))).values == {"name": "a"}
    assert from_bytes(Extended, to_bytes(Extended("a", share=0.5))).share == 0.5
    full = Extended("a", more=Rows(np.arange(3)))
    restored = from_bytes(Extended, to_bytes(full)).more
    assert restored is not None and restored.rows.tolist() == [0, 1, 2]
