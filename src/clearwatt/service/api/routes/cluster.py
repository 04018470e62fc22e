"""Nodes of a cluster: who learns which zone, and giving a node's zones away."""

from __future__ import annotations

from fastapi import APIRouter

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.cluster import ClusterAnswer, NodeAnswer, NodeName
from clearwatt.service.registry import UnknownIdError

router = APIRouter(tags=["cluster"])


@router.get("/v1/cluster", responses=error_responses())
def show_cluster(app: App) -> ClusterAnswer:
    """All nodes with their zones."""
    nodes = [NodeAnswer.of(node) for node in app.store.nodes()]
    held = {zone for node in nodes for zone in node.zones}
    unheld = [zone for zone in sorted(app.registry.snapshot.zones) if nodes and zone not in held]
    return ClusterAnswer(nodes=nodes, unheld=unheld)


@router.post("/v1/cluster/nodes/{node}/drain", responses=error_responses(404, 507))
def drain_node(app: App, node: NodeName) -> NodeAnswer:
    """Let a node give its zones to the others, as before an upgrade; it stays until stopped."""
    return _drain(app, node, draining=True)


@router.post("/v1/cluster/nodes/{node}/resume", responses=error_responses(404, 507))
def resume_node(app: App, node: NodeName) -> NodeAnswer:
    """Let a node take zones again."""
    return _drain(app, node, draining=False)


def _drain(app: AppContext, name: str, *, draining: bool) -> NodeAnswer:
    if all(node.name != name for node in app.store.nodes()):
        raise UnknownIdError(f"node {name!r} is unknown; GET /v1/cluster lists the nodes")
    app.store.drain_node(name, draining=draining)
    return next(NodeAnswer.of(node) for node in app.store.nodes() if node.name == name)
