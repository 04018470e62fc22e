"""Fleet priors."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from clearwatt.service.api.schemas.base import Incoming, Outgoing, RecordedTime
from clearwatt.service.priors import StoredPrior
from clearwatt.service.records import PriorOrigin

DIGEST_PATTERN = r"^[0-9a-f]{64}$"
PriorDigest = Annotated[str, Field(pattern=DIGEST_PATTERN, examples=["0" * 64])]


def _check_base64(content: str) -> str:
    try:
        base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the content is not Base64; send the bytes of a prior in Base64") from None
    return content


class NewPrior(Incoming):
    """A prior to import: the bytes of its file in Base64."""

    content: Annotated[str, AfterValidator(_check_base64)] = Field(min_length=1)

    @property
    def decoded(self) -> bytes:
        """The bytes."""
        return base64.b64decode(self.content)


class PriorKind(Outgoing):
    """What a prior knows of a kind of entity; errors are shares of capacity."""

    kind: str
    entities: int
    samples: int
    error: float = Field(description="Mean absolute error on entities it was not trained on")


class PriorAnswer(Outgoing):
    """A prior of the service; the highest ``number`` is the newest."""

    digest: str
    number: int
    origin: PriorOrigin
    actor: str
    at: RecordedTime
    source: str
    trained: str
    weather: list[str] = Field(description="Weather variables that a zone must have")
    kinds: list[PriorKind]

    @classmethod
    def of(cls, stored: StoredPrior) -> PriorAnswer:
        """The answer for a stored prior."""
        return cls(**_facts(stored))


class PriorContent(PriorAnswer):
    """A prior with the bytes of its file in Base64."""

    content: str

    @classmethod
    def with_content(cls, stored: StoredPrior, content: bytes) -> PriorContent:
        """The answer for a stored prior and its content."""
        return cls(**_facts(stored), content=base64.b64encode(content).decode())

    @property
    def decoded(self) -> bytes:
        """The bytes."""
        return base64.b64decode(self.content)


class PriorList(Outgoing):
    """All priors, the newest first."""

    priors: list[PriorAnswer]


def _facts(stored: StoredPrior) -> dict[str, Any]:
    version, prior = stored
    return {
        "digest": version.digest,
        "number": version.number,
        "origin": version.origin,
        "actor": version.actor,
        "at": int(version.at),
        "source": prior.source,
        "trained": prior.trained,
        "weather": list(prior.weather),
        "kinds": [
            PriorKind(
                kind=name,
                entities=kind.entities,
                samples=kind.samples,
                error=kind.error * kind.power.scale.item(),
            )
            for name, kind in prior.kinds.items()
        ],
    }
