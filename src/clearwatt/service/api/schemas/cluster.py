"""Nodes of a cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import ID_PATTERN, Outgoing, Stamp
from clearwatt.service.records import ClusterNode, NodeRole
from clearwatt.service.store.leases import SECONDS
from clearwatt.service.times import text

NodeName = Annotated[str, Field(pattern=ID_PATTERN, examples=["learner-1"])]
NodeState = Literal["running", "draining", "silent"]


class NodeAnswer(Outgoing):
    """A node; ``silent`` means that its zones are or will soon be those of other nodes."""

    name: str
    role: NodeRole
    state: NodeState
    started: Stamp
    beat_age_seconds: float = Field(description="Seconds since its last sign of life")
    zones: list[str] = Field(description="Zones that it learns")
    queue: int | None = Field(description="Journal entries of its zones that wait; web nodes: none")
    training: int | None = Field(description="Zones that wait for a training; web nodes: none")
    outage: str | None = Field(description="Why it cannot write, if it cannot")

    @classmethod
    def of(cls, node: ClusterNode) -> NodeAnswer:
        """The answer for a node as the database knows it."""
        silent = node.age >= SECONDS
        return cls(
            name=node.name,
            role=node.role,
            state="silent" if silent else "draining" if node.draining else "running",
            started=text(int(node.started)),
            beat_age_seconds=max(0.0, node.age),
            zones=list(node.zones),
            queue=node.content.get("queue"),
            training=node.content.get("training"),
            outage=node.content.get("outage"),
        )


class ClusterAnswer(Outgoing):
    """The nodes of a cluster; none if the service runs on one machine."""

    nodes: list[NodeAnswer]
    unheld: list[str] = Field(description="Zones that no node learns now")
