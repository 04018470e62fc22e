"""The HTTP application on a real store, asked in this process; the learner is a stand-in."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from clearwatt.service.app import create_app
from clearwatt.service.config import ServiceConfig
from clearwatt.service.files import ModelFiles
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.supervisor import Health
from clearwatt.service.metrics import Metrics
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store, open_store
from clearwatt.service.times import text

NOW = 1_717_200_000  # 2024-06-01, midnight UTC
STEP = 900
ZONE = {"id": "north", "step": 900, "variables": ["wind", "sun"], "timezone": "Europe/Berlin"}
PARK = {"id": "park", "zone": "north", "kind": "generator", "capacity": 50.0, "name": "Park №1"}
WELL = Health(alive=True, restarts=0, heartbeat_age=0.5)


class Learner:
    """Counts how often it is woken; its health is what a test says."""

    def __init__(self) -> None:
        self.woken = 0
        self.health = WELL

    def wake(self) -> None:
        self.woken += 1


class Web:
    """An application and a client of it."""

    def __init__(
        self,
        folder: Path,
        config: ServiceConfig | None = None,
        *,
        store: Store | None = None,
        files: ModelFiles | None = None,
    ) -> None:
        self.now = float(NOW)
        self.store = store or open_store(folder / "clearwatt.db")
        self.metrics, self.learner = Metrics(), Learner()
        registry = Registry(self.store)
        self.forecaster = ForecastService(
            self.store,
            files or ModelFiles(folder),
            registry=registry,
            metrics=self.metrics,
            clock=lambda: self.now,
        )
        self.app = create_app(
            config or ServiceConfig(),
            store=self.store,
            forecaster=self.forecaster,
            supervisor=self.learner,
            metrics=self.metrics,
            registry=registry,
            clock=lambda: self.now,
        )
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")
        self._runner = asyncio.Runner()

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **request))

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of an answer that must be a good one."""
        return self._good(self.ask("GET", path, params=query))

    def post(self, path: str, content: object = None) -> Any:
        return self._good(self.ask("POST", path, json=content))

    def put(self, path: str, content: object) -> Any:
        return self._good(self.ask("PUT", path, json=content))

    def refused(self, status: int, method: str, path: str, **request: Any) -> str:
        """The message of an answer that must be an error of this status."""
        answer = self.ask(method, path, **request)
        assert answer.status_code == status, answer.text
        error = answer.json()["error"]
        assert error.keys() == {"code", "message", "details"}
        assert "Traceback" not in answer.text
        return str(error["message"])

    def register(self, *entities: str, zone: str = "north", step: int = STEP) -> None:
        self.post("/v1/zones", {"id": zone, "step": step, "variables": ["wind", "sun"]})
        people = [{"id": name, "zone": zone, "kind": "generator"} for name in entities]
        self.post("/v1/entities", {"entities": people})

    def limp(self, **changes: Any) -> None:
        """Have the learner fare otherwise."""
        self.learner.health = replace(WELL, **changes)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.forecaster.close()
        self.store.close()

    @staticmethod
    def _good(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()


def reading(entity: str, time: int, value: object = 1.0) -> dict[str, Any]:
    return {"entity": entity, "time": text(time), "value": value}


@contextmanager
def listening(web: Web) -> Iterator[str]:
    """The application behind a real socket; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(web.app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
