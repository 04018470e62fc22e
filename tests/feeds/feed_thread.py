"""A feed in a thread of the test, with the options of ``clearwatt feed mqtt``."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

from clearwatt.cli.feed_mqtt import open_feed
from clearwatt.cli.main import build_parser
from clearwatt.feeds.mqtt import FeedCounts
from clearwatt.feeds.stopping import StopRequest


class FeedThread:
    """Runs from the start to the end of a with-block; an error is raised at the end."""

    def __init__(self, state: Path, broker: str, url: str, *options: str) -> None:
        fixed = ["--broker", broker, "--url", url, "--state", str(state), "--zone", "north"]
        self._options = build_parser().parse_args(["feed", "mqtt", *fixed, *options])
        self.counts, self.notices = FeedCounts(), list[str]()
        self._stop = StopRequest()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run)

    def receives(self) -> bool:
        """Whether the broker keeps for it what is published from now on."""
        return any("receiving" in notice for notice in self.notices) or self._error is not None

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return not self._thread.is_alive()

    def __enter__(self) -> FeedThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with ExitStack() as stack:
                feed = open_feed(
                    self._options,
                    stack,
                    stop=self._stop,
                    notify=self.notices.append,
                    on_retry=lambda error, _: self.notices.append(str(error)),
                )
                for counts in feed.run():
                    self.counts = counts
        except Exception as error:
            self._error = error
