"""Links of the OpenAPI description: which requests can follow an answer, with its ids.

Clients that read a description use them to go on, and tests to try sequences of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_READING_TIME = "2024-05-01T12:15:00Z"


class _Source(NamedTuple):
    """An answer that names something, and the parameter that takes the name elsewhere."""

    method: str
    path: str
    statuses: tuple[str, ...]
    parameter: str
    pointer: str


_SOURCES = (
    _Source("post", "/v1/zones", ("200", "201"), "zone", "$response.body#/id"),
    _Source("post", "/v1/entities", ("200", "201"), "entity", "$response.body#/entities/0/id"),
    _Source("get", "/v1/models", ("200",), "version", "$response.body#/models/0/id"),
)


def add_links(paths: dict[str, Any]) -> None:
    """Add to each answer of `_SOURCES` the requests that can follow it."""
    for source in _SOURCES:
        links = dict(_links(paths, source))
        for status in source.statuses:
            paths[source.path][source.method]["responses"][status]["links"] = links


def _links(paths: dict[str, Any], source: _Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in paths.values():
        for operation in methods.values():
            names = {parameter["name"] for parameter in operation.get("parameters", [])}
            if source.parameter in names:
                yield (
                    operation["operationId"],
                    {
                        "operationId": operation["operationId"],
                        "parameters": {source.parameter: source.pointer},
                    },
                )
    for path, body in _bodies(source):
        target = paths[path]["post"]["operationId"]
        yield target, {"operationId": target, "requestBody": body}


def _bodies(source: _Source) -> list[tuple[str, dict[str, Any]]]:
    """Bodies of requests that name what the answer names."""
    named = {source.parameter: source.pointer}
    if source.parameter == "zone":
        return [("/v1/entities", named), ("/v1/weather", named)]
    if source.parameter == "entity":
        reading = {**named, "time": _READING_TIME, "value": 1.5}
        return [("/v1/measurements", {"readings": [reading]})]
    return []
