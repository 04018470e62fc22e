"""A weather server that answers in the documented format of Open-Meteo.

It is a real server on this machine: there is no access to Open-Meteo where the tests run. Values
are functions of time, place and age of the run, so that a test knows what to expect.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from clearwatt.weather.variables import UNITS

HOUR = 3600
Response = tuple[int, dict[str, str], bytes]
Change = Callable[[Any], Any]
"""Changes an answer before it is sent."""


def value(name: str, moment: int, latitude: float, *, ahead: int = 0) -> float:
    """The value of a variable at a time; that of an older run is off by its age in days."""
    hours = moment / HOUR
    if name.startswith("wind_speed"):
        found = 8 + 4 * math.sin(2 * math.pi * hours / 31) + latitude / 100
    elif name.startswith("wind_direction"):
        found = (7 * hours) % 360
        ahead = 0
    elif UNITS[name] == "W/m²":
        found = max(0.0, 500 * math.sin(2 * math.pi * (hours - 6) / 24)) + 100
    elif name == "temperature_2m":
        found = 10 + 8 * math.sin(2 * math.pi * (hours - 9) / 24) + latitude / 10
    else:
        found = 50 + 30 * math.cos(2 * math.pi * hours / 17)
    return round(found + ahead, 3)


class WeatherServer:
    """Answers at ``url``; counts requests, and fails as it is told to."""

    def __init__(self) -> None:
        self.queries: list[dict[str, str]] = []
        self.agents: set[str] = set()
        self.failures: list[Response] = []
        """Answers given first, each once."""
        self.change: Change = lambda answer: answer
        self.runs_since = date(2024, 1, 1)
        """Previous runs are null before."""
        self.today = datetime.now(UTC).date()
        self.url = ""

    def fail(self, status: int, reason: str = "", **headers: str) -> None:
        """Answer the next request with an error, as documented."""
        body = json.dumps({"error": True, "reason": reason}).encode()
        self.failures.append((status, {k.replace("_", "-"): v for k, v in headers.items()}, body))

    def answer(self, target: str) -> Response:
        """The answer to a request."""
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.queries.append(query)
        if self.failures:
            return self.failures.pop(0)
        if parts.path != "/v1/forecast":
            return _error(404, "Not Found")
        names = query["hourly"].split(",")
        for name in names:
            if re.sub(r"_previous_day\d$", "", name) not in UNITS:
                return _error(400, f"Cannot initialize from invalid String value {name}")
        assert query["timeformat"] == "unixtime" and query["wind_speed_unit"] == "ms"
        times = self._times(query)
        places = zip(query["latitude"].split(","), query["longitude"].split(","), strict=True)
        found = [self._place(float(a), float(b), names, times) for a, b in places]
        body = self.change(found if len(found) > 1 else found[0])
        return 200, {}, json.dumps(body).encode()

    def _times(self, query: dict[str, str]) -> list[int]:
        if "start_date" in query:
            first, last = (date.fromisoformat(query[f"{end}_date"]) for end in ("start", "end"))
        else:
            first = self.today
            last = first + timedelta(days=int(query["forecast_days"]) - 1)
        start = int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp())
        return [start + HOUR * k for k in range(24 * ((last - first).days + 1))]

    def _place(
        self, latitude: float, longitude: float, names: list[str], times: list[int]
    ) -> dict[str, Any]:
        columns: dict[str, list[float | None]] = {}
        for name in names:
            plain, _, ahead = name.partition("_previous_day")
            columns[name] = [
                None
                if ahead and datetime.fromtimestamp(moment, UTC).date() < self.runs_since
                else value(plain, moment, latitude, ahead=int(ahead or 0))
                for moment in times
            ]
        units = {name: UNITS[name.partition("_previous_day")[0]] for name in names}
        return {
            "latitude": round(8 * latitude) / 8,  # the middle of a grid cell
            "longitude": round(8 * longitude) / 8,
            "generationtime_ms": 0.1,
            "utc_offset_seconds": 0,
            "timezone": "GMT",
            "timezone_abbreviation": "GMT",
            "elevation": 38.0,
            "hourly_units": {"time": "unixtime", **units},
            "hourly": {"time": times, **columns},
        }


def _error(status: int, reason: str) -> Response:
    return status, {}, json.dumps({"error": True, "reason": reason}).encode()


@contextmanager
def weather_server() -> Iterator[WeatherServer]:
    """A server on a free port of this machine."""
    server = WeatherServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.agents.add(self.headers["User-Agent"])
            status, headers, body = server.answer(self.path)
            self.send_response(status)
            for name, text in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


def seconds_of(year: int, month: int, day: int, hour: int = 0) -> int:
    """A time in UTC as seconds since 1970."""
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp())


def now() -> int:
    """The time in whole seconds."""
    return int(time.time())
