"""What pages load beside themselves: styles, scripts, and plotly from its own wheel."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from clearwatt.service.registry import UnknownIdError

router = APIRouter(include_in_schema=False)

PLOTLY = "plotly.min.js"
TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
EAGER = b"//# allFunctionsCalledOnLoad\n"
"""Has a browser compile plotly while it arrives, beside the page, instead of when it is run."""
FOR_EVER = "public, max-age=31536000, immutable"
"""For an address that names the content: other content has another address."""
ASK_AGAIN = "no-cache"
"""For one that does not: the browser keeps it and asks whether it is still the same."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent; ``mark`` follows from its content."""

    body: bytes
    zipped: bytes
    mark: str
    media_type: str


@cache
def _listed() -> Mapping[str, Traversable]:
    """Every file there is, by name; nothing else is ever opened."""
    own = files("clearwatt.service.dashboard") / "static"
    found = {each.name: each for each in own.iterdir() if each.name.rpartition(".")[2] in TYPES}
    return {**found, PLOTLY: files("plotly") / "package_data" / PLOTLY}


@cache
def asset(name: str) -> Asset:
    """A file by name, read once, or UnknownIdError."""
    file = _listed().get(name)
    if file is None:
        raise UnknownIdError(f"there is no file {name[:100]!r}")
    body = (EAGER if name == PLOTLY else b"") + file.read_bytes()
    return Asset(
        body=body,
        zipped=gzip.compress(body, compresslevel=6, mtime=0),
        mark=hashlib.sha256(body).hexdigest()[:16],
        media_type=TYPES[name.rpartition(".")[2]],
    )


def read_all() -> None:
    """Read and compress every file, so that nobody waits for it."""
    for name in _listed():
        asset(name)


def address(name: str) -> str:
    """Where a file is, for a page to name; it changes with the content.

    Scripts that are imported by others are named without: under two addresses a module runs twice.
    """
    return f"/static/{name}?v={asset(name).mark}"


@router.get("/static/{name}")
def send_asset(name: str, request: Request) -> Response:
    """A file, compressed where that is understood."""
    found = asset(name)
    named = request.query_params.get("v") == found.mark
    headers = {
        "ETag": f'"{found.mark}"',
        "Cache-Control": FOR_EVER if named else ASK_AGAIN,
        "Vary": "Accept-Encoding",
    }
    if found.mark in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.zipped, media_type=found.media_type, headers=headers)
    return Response(found.body, media_type=found.media_type, headers=headers)
