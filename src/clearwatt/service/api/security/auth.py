"""Who may do what: bearer tokens "cw_<id>_<secret>" with a role, only their hash at rest.

A secret is 256 random bits, so guessing one is hopeless however fast the hash is: a slow hash, made
for passwords people choose, would only slow down every request.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clearwatt.errors import ConfigurationError
from clearwatt.service.records import Role, Token
from clearwatt.service.store import Store, StoreUnavailableError

log = logging.getLogger(__name__)

REFRESH = 3.0
"""Seconds after which tokens are read again, so that revoked ones stop working."""

ALLOWS: Mapping[Role, frozenset[Role]] = {
    "read": frozenset({"read"}),
    "ingest": frozenset({"read", "ingest"}),
    "operate": frozenset({"read", "ingest", "operate"}),
}
"""What each role of a token may do."""

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Answered without a token: probes have none, and the description is public."""

LOGIN_PATHS = frozenset({"/login", "/logout"})
"""Where one comes in and goes out; what the pages look like (/static/) is no secret either."""

INGEST_PATHS = frozenset({"/v1/measurements", "/v1/weather"})

_FORM = re.compile(r"cw_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class NewToken(NamedTuple):
    """A token at the only moment its text is known."""

    text: str
    token: Token


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: a token's id and name, or an address.

    ``session`` is somebody who logged in with the token before: whatever else a browser holds, it
    sends the cookie by itself, also when another site makes it ask.
    """

    key: str
    name: str
    role: Role | None = None
    session: bool = False

    @classmethod
    def of_token(cls, token: Token, *, session: bool = False) -> Caller:
        """Whoever presents a token, or a session of it."""
        return cls(key=f"token {token.id}", name=token.name, role=token.role, session=session)


def create_token(name: str, role: Role, *, at: float | None = None) -> NewToken:
    """Draw a token; keep ``.token`` in the store and show ``.text`` once."""
    if role not in ALLOWS:
        raise ConfigurationError(f"role is {role!r}; choose one of {', '.join(ALLOWS)}")
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ConfigurationError(f"name is {name!r}; give 1 to 100 printable characters")
    identifier, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    created = time.time() if at is None else at
    token = Token(identifier, name, role, hash_secret(secret), created)
    return NewToken(f"cw_{identifier}_{secret}", token)


def hash_secret(secret: str) -> str:
    """The SHA-256 of a secret, in hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def role_needed(method: str, path: str) -> Role | None:
    """The role a request needs; None where anyone may ask. What is not named needs the highest."""
    if path in OPEN or path in LOGIN_PATHS or path.startswith("/static/"):
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "ingest" if method == "POST" and path in INGEST_PATHS else "operate"


def is_local(host: str) -> bool:
    """Whether a host (as in a bind or a Host header, without port) is this machine itself."""
    name = host.strip("[]").lower()
    if name in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_bind(host: str, tokens: Sequence[Token]) -> None:
    """Refuse to listen to others before there is a token.

    Raises:
        ConfigurationError: If ``host`` is not this machine and nobody would need a token.
    """
    if not tokens and not is_local(host):
        raise ConfigurationError(
            f"host {host} can be reached by others and no token exists; create one with "
            "'clearwatt token create' or bind to 127.0.0.1"
        )


class TokenBook:
    """The tokens of a store, read again every few seconds; secrets are compared in constant time.

    A store that is away leaves the tokens known last in force.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._read_at: float | None = None
        self._tokens: Mapping[str, Token] = {}
        self._guarded = False

    @property
    def stale(self) -> bool:
        """Whether it is time to read the tokens again."""
        return self._read_at is None or self._clock() - self._read_at > REFRESH

    @property
    def open(self) -> bool:
        """Whether nobody needs a token: none was seen yet. Revoking the last one opens nothing."""
        return not self._guarded

    def refresh(self) -> None:
        """Read the tokens; StoreUnavailableError only if they were never read before."""
        try:
            self._tokens = {token.id: token for token in self._store.tokens()}
        except StoreUnavailableError:
            if self._read_at is None:
                raise
        if self._read_at is None and not self._tokens:
            log.warning("no token exists: everyone on this machine may do everything")
        self._read_at = self._clock()
        self._guarded = self._guarded or bool(self._tokens)

    def get(self, identifier: str) -> Token | None:
        """A token by its id, as long as it exists."""
        return self._tokens.get(identifier)

    def token(self, text: str) -> Token | None:
        """The token that is presented; None if it is none of ours."""
        form = _FORM.fullmatch(text)
        token = self._tokens.get(form[1]) if form else None
        # An unknown id takes as long as a wrong secret.
        known = token.hash if token else hash_secret("")
        same = hmac.compare_digest(hash_secret(form[2] if form else ""), known)
        return token if same else None

    def caller(self, text: str) -> Caller | None:
        """Who presents this token; None if it is none of ours."""
        token = self.token(text)
        return None if token is None else Caller.of_token(token)

    def holds(self, caller: Caller) -> bool:
        """Whether the token of a caller that was known before still exists."""
        return caller.key.removeprefix("token ") in self._tokens


def bearer_token(headers: Mapping[str, Any]) -> str | None:
    """The bearer token of a request's headers."""
    scheme, _, text = str(headers.get("authorization", "")).partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None
