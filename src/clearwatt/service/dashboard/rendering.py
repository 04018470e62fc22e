"""Pages from templates: escaped, with the headers that keep foreign scripts out."""

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
"""Scripts only from here and none inside a page; plotly needs styles inside one."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    # Under no-referrer, which is the API's, browsers hide the origin of the forms they send.
    "Referrer-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page; ``role`` None is somebody who has not logged in."""

    name: str
    role: Role | None
    session: bool

    def may(self, role: Role) -> bool:
        """Whether a button that needs a role is worth showing."""
        return self.role is not None and role in ALLOWS[self.role]


def viewer(request: Request) -> Viewer:
    """Who asks for a page; on an open service that is somebody who may do everything."""
    app: AppContext = request.app.state.context
    caller: Caller = request.state.caller
    role: Role | None = "operate" if app.open else caller.role
    return Viewer(caller.name, role, session=caller.session)


def page(
    request: Request, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HTMLResponse:
    """Render a template with ``viewer``, ``current_path`` and ``asset``.

    Args:
        request: What is answered.
        template: A file of the templates folder; it extends base.html with the blocks title, main
            and, where it has any, head and scripts.
        context: What it shows.
        status: Of the answer.
    """
    always = {"viewer": viewer(request), "current_path": request.url.path}
    body = _environment().get_template(template).render({**context, **always})
    return HTMLResponse(body, status_code=status, headers=HEADERS)


def compile_all() -> None:
    """Compile every template, so that nobody waits for it."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("clearwatt.service.dashboard"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"asset": assets.address, "version": __version__}
    made.filters |= {
        "moment": moment,
        "power": power,
        "figures": figures,
        "count": count,
        "size": size,
        "span": span,
    }
    return made


def moment(time: float | str | None, none: str = "never") -> Markup:
    """A time, in UTC; scripts show it in the viewer's zone and keep UTC for the title."""
    if time is None:
        return Markup("<span class='none'>{}</span>").format(none)
    stamp = time if isinstance(time, str) else text(int(time))
    shown = f"{stamp[:10]} {stamp[11:16]} UTC"
    return Markup("<time datetime='{0}' title='{1}'>{1}</time>").format(stamp, shown)


def power(value: float | None, unit: str) -> str:
    """A power with its unit; a dash where there is none."""
    return "–" if value is None else f"{figures(value)} {unit}"


def figures(value: float) -> str:
    """A number to three figures or so, without an exponent where one can be avoided."""
    size = abs(value)
    if 0 < size < 1e-3 or size >= 1e9:
        return f"{value:.2e}"
    digits = next((digits for least, digits in ((100, 0), (10, 1), (1, 2)) if size >= least), 3)
    return f"{value:,.{0 if size == 0 else digits}f}"


def count(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Bytes in the unit that suits."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def span(seconds: float) -> str:
    """How long, in the unit that suits."""
    for length, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
