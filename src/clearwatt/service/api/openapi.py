"""The OpenAPI description: FastAPI's, with roles and without null query parameters."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fastapi import FastAPI

from clearwatt.service.api.context import AppContext
from clearwatt.service.api.links import add_links
from clearwatt.service.api.security.auth import required_role
from clearwatt.service.records import Role

_METHODS = frozenset({"get", "post", "put", "patch", "delete"})
_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "cw_<id>_<secret>, created by 'clearwatt token create'. Not required while no "
    "token exists and the service listens on its own machine only.",
}
_ABOUT = """Power forecasts that keep learning.

Times are RFC 3339 with a zone; answers are in UTC. Commands are answered with 202 and their number:
the learner carries them out in order and records an event with the key `command:<zone>:<number>`.
Errors have the form `{"error": {"code", "message", "details"}}`."""


class ServiceApp(FastAPI):
    """Application whose OpenAPI description states whether a token is required."""

    def openapi(self) -> dict[str, Any]:
        """The description; ``state.context`` and ``state.descriptions`` must be there."""
        app: AppContext = self.state.context
        cache: dict[bool, dict[str, Any]] = self.state.descriptions
        if app.is_open not in cache:
            cache[app.is_open] = _complete_schema(
                deepcopy(super().openapi()), guarded=not app.is_open
            )
        return cache[app.is_open]


def _complete_schema(schema: dict[str, Any], *, guarded: bool) -> dict[str, Any]:
    schema["info"]["description"] = _ABOUT
    schema.setdefault("components", {})["securitySchemes"] = {"token": _SCHEME}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            if method in _METHODS:
                _complete_operation(operation, required_role(method.upper(), path), guarded=guarded)
    add_links(schema["paths"])
    return schema


def _complete_operation(operation: dict[str, Any], role: Role | None, *, guarded: bool) -> None:
    operation["security"] = [{"token": []}] if role and guarded else []
    if role:
        description = operation.get("description", "")
        operation["description"] = f"{description}\n\nRole: {role}.".strip()
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _without_null(parameter["schema"])


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a query parameter without null: an optional one is simply left out."""
    choices = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **choices[0]}
