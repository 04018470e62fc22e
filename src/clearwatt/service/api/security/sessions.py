"""Who has logged in with a browser: a signed cookie that names a token, for half a day.

Nothing is kept on the server but the key, so that sessions outlive a restart. A session is worth
as much as its token and ends with it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from starlette.datastructures import Headers

from clearwatt.service.records import Token

COOKIE = "clearwatt_session"
LASTS = 12 * 3600
"""Seconds after which one logs in again."""
KEY_BYTES = 32

_FORM = re.compile(r"([a-z0-9]{8})\.([0-9]{1,12})\.([0-9a-f]{64})")


class Sessions:
    """Signs cookies and checks them.

    Args:
        key_file: Where the key is kept; made when it is first needed, readable by its owner only.
            None: a key of this process, and everybody logs in again after a restart.
        clock: The wall clock, in seconds since 1970.
    """

    def __init__(
        self, key_file: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._key_file, self._clock = key_file, clock

    def begun(self, token: Token) -> str:
        """The value of the cookie of somebody who has shown a token."""
        expiry = int(self._clock()) + LASTS
        return f"{token.id}.{expiry}.{self._signature(token, expiry)}"

    def token(self, cookie: str, find: Callable[[str], Token | None]) -> Token | None:
        """The token behind a cookie; None if it was made up, has run out, or the token is gone."""
        form = _FORM.fullmatch(cookie)
        token = find(form[1]) if form else None
        if form is None or token is None:
            return None
        expiry = int(form[2])
        genuine = hmac.compare_digest(self._signature(token, expiry), form[3])
        return token if genuine and self._clock() < expiry else None

    def _signature(self, token: Token, expiry: int) -> str:
        # With the token's hash in it a session dies with its token even if the id is given again.
        signed = f"{token.id}.{expiry}.{token.hash}".encode()
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        if self._key_file is None:
            return secrets.token_bytes(KEY_BYTES)
        return _kept(self._key_file)


def _kept(path: Path) -> bytes:
    """The key in a file; one that is missing or cut short is replaced, never used."""
    known = path.read_bytes() if path.exists() else b""
    if len(known) == KEY_BYTES:
        return known
    key, part = secrets.token_bytes(KEY_BYTES), path.with_name(f".{path.name}.{os.getpid()}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return key


def is_same_origin(headers: Headers) -> bool:
    """Whether a browser says that a page of this very service sent a request."""
    origin = headers.get("origin", "").partition("://")[2]
    return bool(origin) and origin == headers.get("host")


def local_path(wanted: str) -> str:
    """Where to go after logging in: a path of this service, or its first page.

    Browsers take two slashes, and backslashes, for the beginning of a foreign address, and leave
    out control characters.
    """
    plain = wanted.isprintable() and "\\" not in wanted
    inside = wanted.startswith("/") and not wanted.startswith("//")
    return wanted if plain and inside and len(wanted) <= 2000 else "/"
