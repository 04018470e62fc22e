"""Settings of the connection to an MQTT broker; secrets come from the environment or files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clearwatt.errors import ConfigurationError

USER_VARIABLE, PASSWORD_VARIABLE = "CLEARWATT_MQTT_USER", "CLEARWATT_MQTT_PASSWORD"
PORT, TLS_PORT = 1883, 8883
Protocol = Literal["5", "3.1.1"]


@dataclass(frozen=True)
class TlsFiles:
    """Certificates; None: the system's authorities, and no certificate of the client's own."""

    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        for file in (self.authorities, self.certificate, self.key):
            if file is not None and not file.is_file():
                raise ConfigurationError(f"{file} is not a file; check the TLS options")
        if self.key is not None and self.certificate is None:
            raise ConfigurationError(f"there is no certificate for the key {self.key}; give both")


@dataclass(frozen=True)
class BrokerSettings:
    """A broker and how to log in there; without ``tls`` the connection is not encrypted."""

    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: TlsFiles | None = None
    protocol: Protocol = "5"

    def __post_init__(self) -> None:
        if self.password is not None and self.user is None:
            raise ConfigurationError(
                f"there is a password for the broker but no user; set {USER_VARIABLE} or --user"
            )

    @property
    def address(self) -> str:
        """Host and port, for people."""
        return f"{self.host}:{self.port}"


def read_address(text: str, *, tls: bool) -> tuple[str, int]:
    """Host and port of HOST, HOST:PORT or [IPv6]:PORT."""
    if "@" in text or "//" in text:
        # The text may contain a password.
        raise ConfigurationError(
            f"--broker is HOST or HOST:PORT, without mqtt:// and without a user; set "
            f"{USER_VARIABLE} and {PASSWORD_VARIABLE}"
        )
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]+)(?::(\d{1,5}))?", text)
    port = int(found[2]) if found and found[2] else TLS_PORT if tls else PORT
    if found is None or not 0 < port < 65536:
        raise ConfigurationError(
            f"--broker is {text!r}; write it as mqtt.example.org or mqtt.example.org:{PORT}"
        )
    return found[1].strip("[]"), port


def read_credentials(user: str | None, password_file: Path | None) -> tuple[str | None, str | None]:
    """User and password: from the arguments, else from the environment."""
    user = user or os.environ.get(USER_VARIABLE) or None
    if password_file is None:
        return user, os.environ.get(PASSWORD_VARIABLE) or None
    try:
        return user, password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{password_file} cannot be read as a password file") from error
