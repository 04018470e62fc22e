"""Address and limits of the service; the settings of zones are in `settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.service.settings import ZoneSettings

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class ServiceConfig:
    """Address and limits of the web process.

    Attributes:
        host: The address it is bound to; anything but this machine needs tokens.
        port: The port it listens on.
        max_body: Bytes a request may have.
        rate: Requests per second each token (each address, where there are no tokens) may make
            in the long run.
        burst: Requests it may make at once.
        zone_defaults: `ZoneSettings` of zones that are registered without their own.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    max_body: int = 16 * MEGABYTE
    rate: float = 1000.0
    burst: int = 2000
    zone_defaults: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_whole(max_body=self.max_body, burst=self.burst)
        if not 0 <= self.port < 2**16:
            raise ConfigurationError(f"port is {self.port}; give one from 0 to 65535")
        if not self.rate > 0:
            raise ConfigurationError(f"rate is {self.rate}; give requests per second above 0")
        ZoneSettings.read(dict(self.zone_defaults))
