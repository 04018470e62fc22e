"""Paths of the API."""

from __future__ import annotations

from urllib.parse import quote

from clearwatt.errors import ConfigurationError


def path_segment(name: str) -> str:
    """A name, quoted as one segment of a path."""
    return quote(name, safe="")


def owner_path(entity: str | None, zone: str | None) -> str:
    """The path of an entity or of a zone, of which one is named."""
    if (entity is None) == (zone is None):
        raise ConfigurationError("name either an entity or a zone")
    return (
        f"/v1/zones/{path_segment(zone)}"
        if zone is not None
        else f"/v1/entities/{path_segment(entity or '')}"
    )
