"""Work done at start so that the first visitor does not wait for it."""

from __future__ import annotations

import logging

from clearwatt.errors import ClearwattError
from clearwatt.service.api.context import AppContext
from clearwatt.service.dashboard import assets, rendering

_LOG = logging.getLogger(__name__)


def prepare(app: AppContext) -> None:
    """Compile templates, compress static files and read the fleet; takes about a second."""
    rendering.compile_all()
    assets.read_all()
    try:
        app.overview.zones(app.learner.health)
    except ClearwattError as error:
        _LOG.warning("fleet not read in advance", extra={"reason": str(error)})
