"""What the first visitor would otherwise wait for, done before there is one."""

from __future__ import annotations

import logging

from clearwatt.errors import ClearwattError
from clearwatt.service.api.context import AppContext
from clearwatt.service.dashboard import assets, rendering

_LOG = logging.getLogger(__name__)


def prepare(app: AppContext) -> None:
    """Compile templates, compress files and read where everybody stands; it takes a second."""
    rendering.compile_all()
    assets.read_all()
    try:
        app.overview.zones(app.learner.health)
    except ClearwattError as error:
        _LOG.warning("fleet not read before it is asked for", extra={"reason": str(error)})
