"""Browser sessions: a signed cookie that names a token, valid for half a day.

The server stores only the key, so sessions survive a restart. A session has the role of its token
and ends with it.
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
SESSION_SECONDS = 12 * 3600
"""Lifetime of a session."""
KEY_BYTES = 32

_FORM = re.compile(r"([a-z0-9]{8})\.([0-9]{1,12})\.([0-9a-f]{64})")


class Sessions:
    """Signs and checks session cookies.

    Args:
        key_file: File of the key; created when first needed, readable by its owner only. None: a
            key of this process, so sessions end with it.
        key: The key itself, which the web nodes of a cluster share, instead of a file.
        clock: Wall clock, in seconds since 1970.
    """

    def __init__(
        self,
        key_file: Path | None = None,
        *,
        key: bytes | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key_file, self._given_key, self._clock = key_file, key, clock

    def new_cookie(self, token: Token) -> str:
        """Value of the cookie for a new session of a token."""
        expiry = int(self._clock()) + SESSION_SECONDS
        return f"{token.id}.{expiry}.{self._signature(token, expiry)}"

    def token(self, cookie: str, find: Callable[[str], Token | None]) -> Token | None:
        """The token of a cookie; None if it is forged or expired, or the token is revoked."""
        form = _FORM.fullmatch(cookie)
        token = find(form[1]) if form else None
        if form is None or token is None:
            return None
        expiry = int(form[2])
        genuine = hmac.compare_digest(self._signature(token, expiry), form[3])
        return token if genuine and self._clock() < expiry else None

    def _signature(self, token: Token, expiry: int) -> str:
        # The token's hash ends the session with its token even if the id is used again.
        signed = f"{token.id}.{expiry}.{token.hash}".encode()
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        if self._given_key is not None:
            return self._given_key
        if self._key_file is None:
            return secrets.token_bytes(KEY_BYTES)
        return _read_or_create_key(self._key_file)


def _read_or_create_key(path: Path) -> bytes:
    """The key in a file; a missing or truncated one is replaced."""
    stored = path.read_bytes() if path.exists() else b""
    if len(stored) == KEY_BYTES:
        return stored
    key, part = secrets.token_bytes(KEY_BYTES), path.with_name(f".{path.name}.{os.getpid()}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return key


def is_same_origin(headers: Headers) -> bool:
    """Whether the Origin header of a request names this service."""
    origin = headers.get("origin", "").partition("://")[2]
    return bool(origin) and origin == headers.get("host")


def local_path(wanted: str) -> str:
    """The path to redirect to after login, or "/" if it could lead to another site.

    Browsers treat two leading slashes, and backslashes, as the start of a foreign address, and drop
    control characters.
    """
    plain = wanted.isprintable() and "\\" not in wanted
    inside = wanted.startswith("/") and not wanted.startswith("//")
    return wanted if plain and inside and len(wanted) <= 2000 else "/"
