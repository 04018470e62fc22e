"""Weather forecasts coming in."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from clearwatt.service.api.schemas.base import Amount, Id, Incoming, Outgoing, Stamp, Time

MOST_TIMES = 100_000


class NewWeather(Incoming):
    """One forecast of a zone's weather as it was issued; the latest issue counts."""

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
        min_length=1, max_length=MOST_TIMES, description="Ascending, on whole minutes"
    )
    values: dict[Id, list[Amount | None]] = Field(
        description="Every variable of the zone, a value per time; null where there is none"
    )


class WeatherReceipt(Outgoing):
    """An issue that is on disk."""

    zone: str
    issued_at: Stamp
    times: int
    new: bool = Field(description="False if the same was there already")
