"""Static files of the pages: styles, scripts, and plotly from its own wheel."""

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
"""Makes a browser compile plotly while it loads, in parallel to the page."""
IMMUTABLE = "public, max-age=31536000, immutable"
"""Cache-Control of an address with the digest of the content."""
REVALIDATE = "no-cache"
"""Cache-Control of an address without it: the browser asks whether its copy is current."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file, plain and compressed, with a digest of its content."""

    body: bytes
    zipped: bytes
    digest: str
    media_type: str


@cache
def _static_files() -> Mapping[str, Traversable]:
    """All static files by name; no other file is ever opened."""
    own = files("clearwatt.service.dashboard") / "static"
    found = {each.name: each for each in own.iterdir() if each.name.rpartition(".")[2] in TYPES}
    return {**found, PLOTLY: files("plotly") / "package_data" / PLOTLY}


@cache
def asset(name: str) -> Asset:
    """A file by name, read once; raises UnknownIdError."""
    file = _static_files().get(name)
    if file is None:
        raise UnknownIdError(f"there is no file {name[:100]!r}")
    body = (EAGER if name == PLOTLY else b"") + file.read_bytes()
    return Asset(
        body=body,
        zipped=gzip.compress(body, compresslevel=6, mtime=0),
        digest=hashlib.sha256(body).hexdigest()[:16],
        media_type=TYPES[name.rpartition(".")[2]],
    )


def read_all() -> None:
    """Read and compress all files in advance."""
    for name in _static_files():
        asset(name)


def address(name: str) -> str:
    """Address of a file with the digest of its content.

    Scripts that other scripts import must be used without digest: a module with two addresses runs
    twice.
    """
    return f"/static/{name}?v={asset(name).digest}"


@router.get("/static/{name}")
def send_asset(name: str, request: Request) -> Response:
    """A static file, compressed if the browser accepts it."""
    found = asset(name)
    current = request.query_params.get("v") == found.digest
    headers = {
        "ETag": f'"{found.digest}"',
        "Cache-Control": IMMUTABLE if current else REVALIDATE,
        "Vary": "Accept-Encoding",
    }
    if found.digest in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.zipped, media_type=found.media_type, headers=headers)
    return Response(found.body, media_type=found.media_type, headers=headers)
