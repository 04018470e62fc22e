from collections.abc import Iterator

import pytest

from .server import WeatherServer, weather_server


@pytest.fixture
def server() -> Iterator[WeatherServer]:
    with weather_server() as running:
        yield running
