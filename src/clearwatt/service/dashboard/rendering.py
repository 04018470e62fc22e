"""Rendering of pages from templates, with escaping and a content security policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clearwatt import __version__
from clearwatt.service.api.context import AppContext
from clearwatt.service.api.security.auth import ALLOWS, Caller
from clearwatt.service.dashboard import assets
from clearwatt.service.records import Role
from clearwatt.service.times import text

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Allows scripts of this service only, none inline; plotly needs inline styles."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    # Under no-referrer, the API's policy, browsers send forms without their origin.
    "Referrer-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Viewer:
    """Viewer of a page; ``role`` None: not logged in."""

    name: str
    role: Role | None
    session: bool

    def has_role(self, role: Role) -> bool:
        """Whether the viewer has a role, or one that includes it."""
        return self.role is not None and role in ALLOWS[self.role]


def viewer(request: Request) -> Viewer:
    """The viewer of a page; without tokens, everyone has the role operate."""
    app: AppContext = request.app.state.context
    caller: Caller = request.state.caller
    role: Role | None = "operate" if app.is_open else caller.role
    return Viewer(caller.name, role, session=caller.session)


def page(
    request: Request, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HTMLResponse:
    """Render a template with ``viewer``, ``current_path`` and ``asset``.

    Args:
        request: The request to answer.
        template: File in the templates folder; it extends base.html with the blocks title and main,
            optionally head and scripts.
        context: Variables of the template.
        status: HTTP status of the answer.
    """
    always = {"viewer": viewer(request), "current_path": request.url.path}
    body = _environment().get_template(template).render({**context, **always})
    return HTMLResponse(body, status_code=status, headers=HEADERS)


def compile_all() -> None:
    """Compile all templates in advance."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("clearwatt.service.dashboard"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"asset": assets.address, "software": __version__}
    environment.filters |= {
        "moment": moment,
        "power": power,
        "percent": percent,
        "share": share,
        "figures": figures,
        "count": count,
        "size": size,
        "span": span,
    }
    return environment


def moment(time: float | str | None, none: str = "never") -> Markup:
    """A time in UTC; scripts show it in the viewer's time zone, with UTC in the title."""
    if time is None:
        return Markup("<span class='none'>{}</span>").format(none)
    stamp = time if isinstance(time, str) else text(int(time))
    shown = f"{stamp[:10]} {stamp[11:16]} UTC"
    return Markup("<time datetime='{0}' title='{1}'>{1}</time>").format(stamp, shown)


def power(value: float | None, unit: str) -> str:
    """A power with its unit; a dash for None."""
    return "–" if value is None else f"{figures(value)} {unit}"


def percent(value: float) -> str:
    """A share in per cent: one digit after the point below 10 %."""
    size = 100 * value
    return f"{size:.1f} %" if abs(size) < 9.95 else f"{size:.0f} %"


def share(value: float | None, capacity: float | None) -> str:
    """A power as a share of capacity; empty if either is unknown."""
    return "" if value is None or not capacity else f"{percent(value / capacity)} of capacity"


def figures(value: float) -> str:
    """A number with about three significant digits, without exponent if possible."""
    size = abs(value)
    if 0 < size < 1e-3 or size >= 1e9:
        return f"{value:.2e}"
    digits = next((digits for least, digits in ((100, 0), (10, 1), (1, 2)) if size >= least), 3)
    return f"{value:,.{0 if size == 0 else digits}f}"


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Bytes in a suitable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def span(seconds: float) -> str:
    """A duration in a suitable unit."""
    for length, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
