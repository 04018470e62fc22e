from __future__ import annotations

from clearwatt.service.records import Entity, Event, Zone

from .web import Web


def test_the_page_shows_entities_and_events_as_text(tmp_path):
    web = Web(tmp_path)
    web.store.add_zone(Zone("north", 900, ("wind",)))
    web.store.add_entities([Entity("e1", "north", "consumer", name="<script>alert(1)</script>")])
    web.store.add_event(Event("k", "update", "<img src=x onerror=alert(1)>", at=1_717_000_000.0))
    answer = web.ask("GET", "/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "<script" not in answer.text
    assert "<img" not in answer.text
    assert web.ask("GET", "/home.css").headers["content-type"].startswith("text/css")
