"""Checks that a store must pass, with any database.

Each takes a function that opens the store, works in zones that it registers itself, and raises an
`AssertionError` that says what is wrong. The function must be picklable, such as
``functools.partial(open_store, address)``: some checks open the store in a second process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from uuid import uuid4

import numpy as np

from clearwatt.errors import ClearwattError, DataError
from clearwatt.service.records import (
    Command,
    Flag,
    Outcome,
    Receipt,
    ServiceEvent,
    Token,
    Verdict,
    Vintage,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import (
    ZoneStatus,
)
from clearwatt.service.store import ConflictError, Store
from clearwatt.testing.store_cluster import check_cluster
from clearwatt.testing.store_records import (
    START,
    STEP,
    make_outcome,
    make_signals,
    make_version,
    readings,
    register,
    weather,
)
from clearwatt.testing.store_removal import check_removal
from clearwatt.testing.writers import (
    Opener,
    check_concurrent_writers,
    check_exclusive,
    check_killed_writer,
)


def check_store(open_store: Opener) -> None:
    """Run all checks; the first that fails raises AssertionError."""
    for check in STORE_CHECKS:
        check(open_store)


def check_registration(open_store: Opener) -> None:
    """Check that repeating a registration changes nothing and a conflicting one is rejected."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        assert store.add_zone(zone) is False, "a zone that is there counted as new"
        _check_raises(lambda: store.add_zone(replace(zone, step=60)), ConflictError, "another step")
        assert store.add_entities(entities) == entities, "entities changed when sent again"
        assert store.entities(zone.id) == entities, "entities come back different"
        assert zone in store.zones(), "a zone comes back different"
        new = replace(entities[0], id=f"{zone.id}-new")
        changed = replace(entities[1], unit="MW")
        _check_raises(lambda: store.add_entities([new, changed]), ConflictError, "another unit")
        lost = replace(new, zone=f"{zone.id}-lost")
        _check_raises(
            lambda: store.add_entities([new, lost]), DataError, "a zone that is not there"
        )
        assert store.entities(zone.id) == entities, "half of a refused list was registered"


def check_idempotence(open_store: Opener) -> None:
    """Check that a repeated reading is neither stored nor journaled again."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        numbers = [entity.number for entity in entities]
        assert store.first_reading(zone.id) is None, "a zone without readings has a first one"
        batch = readings(numbers * 3, times=[0, 0, 1, 1, 2, 2], values=[1, 2, 3, np.nan, 5, -0.0])
        assert store.add_readings(batch, at=1.0) == Receipt(6, 0, 0), "a new reading is not new"
        assert store.add_readings(batch[::-1], at=2.0) == Receipt(0, 6, 0), "known ones are new"
        assert store.first_reading(zone.id) == START, "another reading is the first"
        assert store.heads()[zone.id] == 1, "readings that were there are in the journal again"
        twice = readings(numbers[:1] * 3, times=[2, 3, 3], values=[5, 7, 8])
        assert store.add_readings(twice, at=3.0) == Receipt(1, 2, 0), "repeats count as new"
        (entry,) = store.journal(zone.id, after=1)
        kept = readings(numbers[:1], times=[3], values=[8])
        assert _bytes(entry.content) == kept.tobytes(), "of two readings the last must count"
        _check_series(store, numbers[0], [1, 3, 5, 8])
        _check_series(store, numbers[1], [2, np.nan, 0])
        assert store.add_readings(batch[:0], at=4.0) == Receipt(0, 0, 0), "nothing is something"
        unknown = readings([2**31 - 1], times=[0], values=[1])
        _check_raises(lambda: store.add_readings(unknown, at=1.0), DataError, "an unknown entity")


def check_corrections(open_store: Opener) -> None:
    """Check that another value replaces the stored one, is journaled and recorded as an event."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        number = entities[0].number
        store.add_readings(readings([number] * 3, times=[0, 1, 2], values=[1, 2, np.nan]), at=1.0)
        _flag(store, zone, Verdict(number, START, Flag.QUARANTINED, "stuck"))
        found = store.quarantine(entity=number)
        assert [(r.time, r.value, r.reason) for r in found] == [(START, 1, "stuck")], f"{found}"
        again = readings([number] * 3, times=[0, 1, 2], values=[77.125, 2, 78.125])
        assert store.add_readings(again, at=5.0) == Receipt(0, 1, 2), "corrections are not counted"
        _check_series(store, number, [77.125, 2, 78.125])
        assert store.quarantine(entity=number) == [], "a corrected value keeps its old verdict"
        (entry,) = store.journal(zone.id, after=1)
        assert _bytes(entry.content) == again[[0, 2]].tobytes(), "corrections are not journaled"
        (event,) = store.events(entity=entities[0].id, kinds=["correction"])
        assert event.details["readings"] == 2, f"an event says {event.details}"
        assert "7.125" not in repr(event) + repr(event.details), "an event tells a value"


def check_journal(open_store: Opener) -> None:
    """Check that entries are returned unchanged, numbered by zone from 1 in order of arrival."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        other, others = register(store)
        mixed = readings([others[0].number, entities[0].number], times=[1, 0], values=[1, 2])
        store.add_readings(mixed, at=1.0)
        command = Command("hold", zone.id, entities[0].id, {"why": ["ü", 1.5, None]}, "me", 2.0)
        assert store.add_command(command) == 2, "a command is not numbered after what was there"
        issue = weather(zone.id, issued=0, first=0, fill=1.5)
        assert store.add_weather(issue, at=3.0) is True, "a new issue is not new"
        back = store.journal(zone.id, after=0)
        assert [entry.seq for entry in back] == [1, 2, 3], f"numbers {[e.seq for e in back]}"
        assert _bytes(back[0].content) == mixed[1:].tobytes(), "readings of another zone are there"
        assert back[1].content == command, f"a command comes back as {back[1].content}"
        _check_issue(back[2].content, issue)
        assert store.journal(zone.id, after=1, limit=1)[0].content == command, "paging is off"
        assert store.journal(zone.id, after=3) == [], "there are entries after the last"
        heads = store.heads()
        assert (heads[zone.id], heads[other.id]) == (3, 1), f"the heads are {heads}"
        lost = replace(command, zone=f"{zone.id}-lost")
        _check_raises(lambda: store.add_command(lost), DataError, "a command to an unknown zone")


def check_weather(open_store: Opener) -> None:
    """Check that all issues are kept, a repeated one as of each journal number."""
    with closing(open_store()) as store:
        zone, _ = register(store)
        first = weather(zone.id, issued=0, first=0, fill=1)
        later = weather(zone.id, issued=1, first=2, fill=2)
        for issue in (later, first):
            store.add_weather(issue, at=1.0)
        assert store.add_weather(first, at=2.0) is False, "an issue that is there is new"
        changed = weather(zone.id, issued=0, first=0, fill=3)
        assert store.add_weather(changed, at=2.0) is True, "a changed issue is not new"
        span = {"start": START, "end": START + 8 * STEP}
        for found, wanted in zip(store.weather(zone.id, **span), (changed, later), strict=True):
            _check_issue(found, wanted)
        for found, wanted in zip(
            store.weather(zone.id, **span, until=2), (first, later), strict=True
        ):
            _check_issue(found, wanted)
        ends = {"start": START + 4 * STEP, "end": START + 5 * STEP}
        (only,) = store.weather(zone.id, **ends)
        _check_issue(only, later)
        assert [e.kind for e in store.events(zone=zone.id)] == ["correction"], "no event of it"
        bad = replace(first, values=first.values[:, :1])
        _check_raises(lambda: store.add_weather(bad, at=1.0), DataError, "a missing variable")
        spans = {(int(issue.times[0]), int(issue.times[-1])) for issue in (first, later)}
        assert set(store.weather_spans(zone.id)) == spans, "the spans of issues are others"
        last = int(later.times[-1])
        newest = store.newest_issue(zone.id, reaching=last)
        assert newest == later.issued_at, "another issue is the newest"
        assert store.newest_issue(zone.id, reaching=last + 1) is None, "an issue reaches too far"


def check_commit(open_store: Opener) -> None:
    """Check that committing an outcome twice stores it once; a deployed version supersedes."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        entity = entities[0]
        store.add_readings(readings([entity.number] * 2, times=[0, 1], values=[1, 2]), at=1.0)
        old, new = (make_version(zone, entity, number) for number in (0, 1))
        identity = f"autoencoder:{zone.id}:9"
        shared = replace(old, id=identity, component="autoencoder", entity=None, number=9)
        for outcome in (make_outcome(zone, entity, old), make_outcome(zone, entity, new, shared)):
            for _ in range(2):
                store.commit(outcome)
        assert store.statuses([zone.id]) == {zone.id: outcome.status}, "the status differs"
        stands = (outcome.status.position, outcome.status.generation)
        assert store.positions()[zone.id] == stands, "the position of the status differs"
        assert store.status_stamps()[zone.id][:2] == stands, "the stamp of the status differs"
        assert store.version(old.id) == replace(old, status="superseded"), "the old one serves on"
        found = {version.id for version in store.versions(entity=entity.id, status="deployed")}
        assert found == {new.id, shared.id}, f"deployed are {found}"
        keys = [event.key for event in store.events(zone=zone.id)]
        assert keys == [f"update:{new.id}", f"update:{old.id}"], f"the events are {keys}"
        store.commit(make_outcome(zone, entity, old))
        assert store.version(new.id) == replace(new, status="superseded"), "no way back"
        (day,) = store.signals(zone.id, start=START + 3600, end=START + 7200)
        assert day == make_signals(zone, entity, old.number), f"a signal day is {day}"
        flags = store.readings(entity.number, start=START, end=START + 2 * STEP).flags
        assert flags.tolist() == [Flag.QUARANTINED, Flag.ACCEPTED], f"the flags are {flags}"
        store.mark_version(new.id, "damaged")
        assert store.versions(zone=zone.id, status="damaged")[0].id == new.id, "not marked"
        assert store.version("predictor:nobody:1") is None, "a version out of nothing"
        stamp = store.status_stamps()[zone.id]
        store.commit(Outcome(replace(store.status(zone.id), error="DataError")))
        assert store.status_stamps()[zone.id] != stamp, "an error of learning is not noticed"


def check_all_or_nothing(open_store: Opener) -> None:
    """Check that an outcome that cannot be written changes nothing."""
    with closing(open_store()) as store:
        zone, entities = register(store)
        outcome = make_outcome(zone, entities[0], make_version(zone, entities[0], 0))
        broken = replace(outcome.events[0], key=f"{zone.id}-nan", details={"error": float("nan")})
        mixed = replace(outcome, events=(*outcome.events, broken))
        _check_raises(lambda: store.commit(mixed), ClearwattError, "NaN, which JSON does not know")
        assert store.statuses([zone.id]) == {}, "the status of a refused outcome is there"
        assert store.versions(zone=zone.id) == [], "the version of a refused outcome is there"
        assert store.events(zone=zone.id) == [], "an event of a refused outcome is there"


def check_events(open_store: Opener) -> None:
    """Check that events are stored once and found by zone, entity, kind, time and number."""
    with closing(open_store()) as store:
        zone, (entity, other) = register(store)
        names = [f"{zone.id}-{i}" for i in range(7)]
        for i, name in enumerate(names):
            owner = (entity, other)[i % 2].id
            event = ServiceEvent(
                name, f"kind {i % 3}", "µ", float(i), "me", zone.id, owner, i, {"i": i}
            )
            for _ in range(2):
                store.add_event(event)
        newest = store.events(zone=zone.id, limit=3)
        assert [event.key for event in newest] == names[:3:-1], f"newest first: {newest}"
        older = store.events(zone=zone.id, before=newest[-1].seq)
        assert [event.key for event in older] == names[3::-1], f"the next page is {older}"
        after = store.events(zone=zone.id, after=older[0].seq)
        assert [event.key for event in after] == names[4:], f"oldest first: {after}"
        assert replace(newest[0], seq=-1) == event, f"an event comes back as {newest[0]}"
        of_kind = store.events(zone=zone.id, kinds=["kind 0", "kind 1"], start=1, end=6)
        assert [event.time for event in of_kind] == [4, 3, 1], f"of two kinds: {of_kind}"
        assert len(store.events(entity=other.id)) == 3, "not the events of one entity"
        assert store.events(zone=zone.id, kinds=[]) == [], "events of no kind"
        foreign, _ = register(store)
        for place in (zone, foreign):
            store.add_event(ServiceEvent(f"{place.id}-all", "settings", "", 9.0, zone=place.id))
        shared = store.events(entity=other.id, shared=True)
        assert [event.key for event in shared] == [f"{zone.id}-all", *names[5::-2]], (
            f"of an entity and its whole zone: {shared}"
        )


def check_span(open_store: Opener) -> None:
    """Check the times of an entity's first and last reading, in any order of arrival."""
    with closing(open_store()) as store:
        _, (entity, other) = register(store)
        assert store.span(entity.number) is None, "an entity without readings has a span"
        for times in ([40, 41], [700, 3], [9]):
            given = readings([entity.number] * len(times), times=times, values=[1.0] * len(times))
            store.add_readings(given, at=1.0)
        found = store.span(entity.number)
        assert found == (START + 3 * STEP, START + 700 * STEP), f"it reaches over {found}"
        assert store.span(other.number) is None, "the span of another entity"


def check_latest(open_store: Opener) -> None:
    """Check that the newest usable reading is found, however old."""
    with closing(open_store()) as store:
        zone, (one, two) = register(store)
        week = 7 * 86_400 // STEP
        numbers, times = [one.number] * 4, [-40 * week, -1, 0, 1]
        store.add_readings(readings(numbers, times=times, values=[1, 2, np.nan, 3]), at=1.0)
        found = store.latest([one.number, two.number], before=START + STEP)
        assert found == {one.number: (START - STEP, 2.0)}, f"the latest are {found}"
        _flag(store, zone, Verdict(one.number, START - STEP, Flag.QUARANTINED, "stuck"))
        found = store.latest([one.number], before=START)
        assert found == {one.number: (START - 40 * week * STEP, 1.0)}, f"far back: {found}"
        long = store.readings(one.number, start=0, end=2**40)
        assert len(long.times) == 4, f"all there is: {long}"
        assert np.all(np.diff(long.times) > 0), "readings are not in order of time"


def check_vintages(open_store: Opener) -> None:
    """Check that issued forecasts are returned unchanged, newest first, and can be pruned."""
    with closing(open_store()) as store:
        _, (entity, _) = register(store)
        values, sources = np.arange(4, dtype=np.float32), np.array([0, 0, 1, 2], dtype=np.uint8)
        given = [
            Vintage(
                *(entity.id, issued, 3, None, "p", START + 4 * i * STEP, STEP, values + i, sources),
                measured_until=5 + i,
            )
            for i, issued in enumerate((10.0, 20.0, 30.0))
        ]
        store.add_vintages(given)
        found = store.vintages(entity.id, start=START + 3 * STEP, end=START + 5 * STEP)
        assert [v.issued_at for v in found] == [20.0, 10.0], f"found {found}"
        assert found[0].values.tolist() == [1, 2, 3, 4], f"values {found[0].values}"
        assert found[0].sources.tolist() == [0, 0, 1, 2], f"sources {found[0].sources}"
        assert [v.measured_until for v in found] == [6, 5], f"measured until {found}"
        span = {"start": START, "end": START + 12 * STEP}
        before = store.vintages(entity.id, **span, issued_before=30.0, limit=1)
        assert [v.issued_at for v in before] == [20.0], f"issued before: {before}"
        assert store.prune_vintages(15.0) >= 1, "nothing was pruned"
        assert len(store.vintages(entity.id, **span)) == 2, "pruning took the wrong ones"
        store.prune_vintages(35.0, limit=1)
        left = store.vintages(entity.id, **span)
        assert [v.issued_at for v in left] == [30.0], f"the oldest first, one at a time: {left}"


def check_tokens(open_store: Opener) -> None:
    """Check that tokens are stored by id and removed."""
    with closing(open_store()) as store:
        token = Token(uuid4().hex, "a name", "ingest", "hash", 1.0)
        store.add_token(token)
        _check_raises(
            lambda: store.add_token(replace(token, role="operate")), ConflictError, "again"
        )
        assert token in store.tokens(), "a token comes back different"
        assert store.remove_token(token.id) is True, "a token cannot be removed"
        assert store.remove_token(token.id) is False, "a token was removed twice"
        assert token not in store.tokens(), "a removed token is there"
        assert store.tokens_existed(), "it is not known that a token existed"


def check_priors(open_store: Opener) -> None:
    """Check that priors are numbered and stay as they were stored first."""
    with closing(open_store()) as store:
        digests = [uuid4().hex for _ in range(2)]
        first, second = (
            store.add_prior(each, each.encode(), origin="imported", actor="check", at=1.0)
            for each in digests
        )
        assert second.number == first.number + 1, "priors are not numbered in their order"
        again = store.add_prior(first.digest, b"", origin="trained", actor="check", at=2.0)
        assert again == first, "a prior changed when it was stored again"
        assert store.priors()[:2] == [second, first], "the newest prior is not the first"
    with closing(open_store()) as store:
        assert store.prior(first.digest) == digests[0].encode(), "a prior comes back different"
        assert store.prior(uuid4().hex) is None, "a prior that is not stored was found"


STORE_CHECKS: tuple[Callable[[Opener], None], ...] = (
    check_registration,
    check_idempotence,
    check_corrections,
    check_journal,
    check_weather,
    check_commit,
    check_all_or_nothing,
    check_events,
    check_span,
    check_latest,
    check_vintages,
    check_tokens,
    check_priors,
    check_removal,
    check_cluster,
    check_concurrent_writers,
    check_killed_writer,
    check_exclusive,
)
"""All checks in the order of `check_store`; later ones build on earlier ones."""


def _flag(store: Store, zone: Zone, verdict: Verdict) -> None:
    store.commit(Outcome(ZoneStatus(zone.id, 1, 1), verdicts=(verdict,)))


def _check_raises(call: Callable[[], object], kind: type[ClearwattError], what: str) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} was not refused with a {kind.__name__}")


def _bytes(content: object) -> bytes:
    assert isinstance(content, np.ndarray), f"not readings: {content}"
    return content.tobytes()


def _check_series(store: Store, number: int, values: list[float]) -> None:
    found = store.readings(number, start=START, end=START + 100 * STEP)
    assert np.array_equal(found.values, values, equal_nan=True), f"{found.values}, not {values}"
    steps = START + STEP * np.arange(len(values))
    assert np.array_equal(found.times, steps), f"times {found.times}"


def _check_issue(found: object, wanted: WeatherIssue) -> None:
    assert isinstance(found, WeatherIssue), f"not an issue of weather: {found}"
    assert found.issued_at == wanted.issued_at, f"issued at {found.issued_at}"
    assert np.array_equal(found.times, wanted.times), f"times {found.times}"
    assert np.array_equal(found.values, wanted.values), f"values {found.values}"
