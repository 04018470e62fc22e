"""Incoming weather forecasts."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from clearwatt.service.api.schemas.base import Amount, Id, Incoming, Outgoing, Stamp, Time

MOST_TIMES = 100_000


class NewWeather(Incoming):
    """A weather forecast of a zone; the latest issue is used."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "zone": "north",
                    "issued_at": "2024-05-01T06:00:00Z",
                    "times": ["2024-05-01T12:00:00Z", "2024-05-01T13:00:00Z"],
                    "values": {"temperature_c": [14.2, 14.9], "ghi_wm2": [610.0, None]},
                }
            ]
        }
    )

    zone: Id
    issued_at: Time
    times: list[Time] = Field(
        min_length=1,
        max_length=MOST_TIMES,
        description="Times in ascending order, on whole minutes",
    )
    values: dict[Id, list[Amount | None]] = Field(
        description="For every variable of the zone a value per time; null: missing"
    )


class WeatherReceipt(Outgoing):
    """Receipt of a stored weather forecast."""

    zone: str
    issued_at: Stamp
    times: int
    new: bool = Field(description="False if it was stored before")
