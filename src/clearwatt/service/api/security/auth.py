"""Bearer tokens "cw_<id>_<secret>" with a role; only the hash of the secret is stored.

A secret has 256 random bits and cannot be guessed, however fast the hash is. A slow hash, which
passwords need, would only slow down every request.
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
from clearwatt.service.store import Store, StoreDamagedError, StoreUnavailableError

log = logging.getLogger(__name__)

REFRESH = 3.0
"""Seconds after which tokens are read again; a revoked one works at most that long."""

ALLOWS: Mapping[Role, frozenset[Role]] = {
    "read": frozenset({"read"}),
    "ingest": frozenset({"read", "ingest"}),
    "operate": frozenset({"read", "ingest", "operate"}),
}
"""Roles that each role includes."""

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Paths without authorisation: probes have no token, and the description is public."""

LOGIN_PATHS = frozenset({"/login", "/logout"})
"""Paths to log in and out; like /static/ they need no token."""

INGEST_PATHS = frozenset({"/v1/measurements", "/v1/weather"})

_FORM = re.compile(r"cw_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class NewToken(NamedTuple):
    """A new token with its text, which is not stored."""

    text: str
    token: Token


@dataclass(frozen=True, slots=True)
class Caller:
    """Originator of a request: a token's id and name, or an address.

    ``session``: identified by a session cookie, which a browser also sends with requests that
    another site triggers.
    """

    key: str
    name: str
    role: Role | None = None
    session: bool = False

    @classmethod
    def of_token(cls, token: Token, *, session: bool = False) -> Caller:
        """The caller with a token, or with a session of it."""
        return cls(key=f"token {token.id}", name=token.name, role=token.role, session=session)


def create_token(name: str, role: Role, *, at: float | None = None) -> NewToken:
    """Create a token; store ``.token`` and show ``.text`` once."""
    if role not in ALLOWS:
        raise ConfigurationError(f"role is {role!r}; choose one of {', '.join(ALLOWS)}")
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ConfigurationError(f"name is {name!r}; give 1 to 100 printable characters")
    identifier, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    created = time.time() if at is None else at
    token = Token(identifier, name, role, hash_secret(secret), created)
    return NewToken(f"cw_{identifier}_{secret}", token)


def hash_secret(secret: str) -> str:
    """SHA-256 of a secret in hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def required_role(method: str, path: str) -> Role | None:
    """The role a request needs; None: no authorisation. Unlisted paths need the highest role."""
    if path in OPEN_PATHS or path in LOGIN_PATHS or path.startswith("/static/"):
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "ingest" if method == "POST" and path in INGEST_PATHS else "operate"


def is_local(host: str) -> bool:
    """Whether a host, without port, is a loopback name or address."""
    name = host.strip("[]").lower()
    if name in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_bind(host: str, tokens: Sequence[Token]) -> None:
    """Check that a service reachable by others has a token.

    Raises:
        ConfigurationError: If ``host`` is not this machine and no token exists.
    """
    if not tokens and not is_local(host):
        raise ConfigurationError(
            f"host {host} can be reached by others and no token exists; create one with "
            "'clearwatt token create' or bind to 127.0.0.1"
        )


class TokenBook:
    """Cache of a store's tokens, refreshed every few seconds; compares secrets in constant time.

    While the store is unavailable, the last tokens read stay valid.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._read_at: float | None = None
        self._tokens: Mapping[str, Token] = {}
        self._guarded = False

    @property
    def is_stale(self) -> bool:
        """Whether the tokens are due to be read again."""
        return self._read_at is None or self._clock() - self._read_at > REFRESH

    @property
    def is_open(self) -> bool:
        """Whether no token ever existed; revoking the last one does not open the service."""
        return not self._guarded

    def refresh(self) -> None:
        """Read the tokens; raises StoreUnavailableError only if they were never read."""
        try:
            self._tokens = {token.id: token for token in self._store.tokens()}
            self._guarded = self._guarded or self._store.tokens_existed()
        except (StoreUnavailableError, StoreDamagedError):
            if self._read_at is None:
                raise
        if self._read_at is None and not self._tokens:
            who = (
                "nobody has access" if self._guarded else "everyone on this machine has full access"
            )
            log.warning("no token exists: %s", who)
        self._read_at = self._clock()

    @property
    def is_locked(self) -> bool:
        """Whether all tokens are revoked, so that nobody has access."""
        return self._guarded and not self._tokens

    def get(self, identifier: str) -> Token | None:
        """A token by id."""
        return self._tokens.get(identifier)

    def token(self, text: str) -> Token | None:
        """The token with this text; None if there is none."""
        form = _FORM.fullmatch(text)
        token = self._tokens.get(form[1]) if form else None
        # An unknown id takes as long as a wrong secret.
        expected = token.hash if token else hash_secret("")
        same = hmac.compare_digest(hash_secret(form[2] if form else ""), expected)
        return token if same else None

    def caller(self, text: str) -> Caller | None:
        """The caller with the token of this text; None if there is none."""
        token = self.token(text)
        return None if token is None else Caller.of_token(token)

    def is_valid(self, caller: Caller) -> bool:
        """Whether a caller's token still exists."""
        return caller.key.removeprefix("token ") in self._tokens


def bearer_token(headers: Mapping[str, Any]) -> str | None:
    """The bearer token in the headers of a request."""
    scheme, _, text = str(headers.get("authorization", "")).partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None
