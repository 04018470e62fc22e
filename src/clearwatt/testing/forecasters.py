"""Checks that any forecaster must pass, whatever it learns with.

Each takes a function that starts a forecaster on a warm-up, runs it on a small stream that drifts,
and raises an `AssertionError` that says what is wrong.

    check_forecaster(lambda x, y, at: AdaptiveForecaster.fit(x, y, at, day=24, delay=24))
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.files import load_state, save_state
from clearwatt.forecaster import Change, Forecaster
from clearwatt.packing import Packed
from clearwatt.training.fleet import one_thread, train

DAY = 24
WARM_UP = 40 * DAY
LENGTH = 75 * DAY
AHEAD = 21 * DAY
"""Three weeks: a look that far ahead must change nothing."""
LATE = WARM_UP + 12 * DAY


class SampleStream(NamedTuple):
    """Samples of two entities, with an outage and, half-way, a drift."""

    x: Float64Array
    """Inputs, two of weather and the calendar, `n x d`."""
    y: Float64Array
    """Power, `n x 2`; NaN where nothing was measured."""
    at: Steps
    """Steps, `n`."""

    def part(self, start: int, stop: int) -> SampleStream:
        """Some of the rows."""
        return SampleStream(self.x[start:stop], self.y[start:stop], self.at[start:stop])


Start = Callable[[Float64Array, Float64Array, Steps], Forecaster]
"""Starts a forecaster on a warm-up with a delay of a day of 24 steps; always the same one."""


def sample_stream() -> SampleStream:
    """The stream that forecasters are checked with."""
    rng = np.random.default_rng(0)
    at = np.arange(LENGTH)
    weather = np.sin(at[:, None] / [7.3, 31.0]) + 0.2 * rng.normal(size=(LENGTH, 2))
    hour = 2 * np.pi * at / DAY
    calendar = np.zeros((LENGTH, len(CALENDAR_COLUMNS)))
    calendar[:, 0], calendar[:, 1] = np.sin(hour), np.cos(hour)
    power = np.stack([1 + weather[:, 0] ** 2, 2 + np.sin(hour) * weather[:, 1]], axis=1)
    power[WARM_UP + 20 * DAY :, 0] *= 2
    power += 0.05 * rng.normal(size=power.shape)
    power[WARM_UP + 100 : WARM_UP + 130, 1] = np.nan
    return SampleStream(np.concatenate([weather, calendar], axis=1), power, at)


def warm_up(start: Start, stream: SampleStream) -> Forecaster:
    """A forecaster after the warm-up."""
    return start(*stream.part(0, WARM_UP))


def follow(forecaster: Forecaster, stream: SampleStream, cuts: list[int]) -> list[Change]:
    """Let it learn the rows between cuts, one block each; returns the changes."""
    changes: list[Change] = []
    for low, high in pairwise(cuts):
        changes += forecaster.observe(*stream.part(low, high))
    return changes


def check_forecaster(start: Start) -> None:
    """Run every check; the first that fails raises an `AssertionError`."""
    for check in FORECASTER_CHECKS:
        check(start)


def check_pure_forecasts(start: Start) -> None:
    """The same call twice gives the same bytes; a forecast far ahead changes nothing."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    follow(forecaster, stream, [WARM_UP, WARM_UP + 5 * DAY])
    before, deployed = forecaster.digest(), forecaster.deployed
    near = stream.part(WARM_UP + 5 * DAY, WARM_UP + 7 * DAY)
    far = stream.part(WARM_UP + 5 * DAY, WARM_UP + 5 * DAY + AHEAD)
    first = deployed.forecast(near.x, near.at)
    ahead = deployed.forecast(far.x, far.at)
    again = deployed.forecast(near.x, near.at)
    assert np.isfinite(ahead.power).all(), "a forecast three weeks ahead is not finite"
    assert first.power.tobytes() == again.power.tobytes(), (
        "the same forecast twice gives different bytes; compute it from Deployed alone"
    )
    assert forecaster.digest() == before, "a forecast changes the state of the forecaster"
    follow(forecaster, stream, [WARM_UP + 5 * DAY, WARM_UP + 9 * DAY])
    later = deployed.forecast(near.x, near.at)
    assert first.power.tobytes() == later.power.tobytes(), (
        "a Deployed value changes as the forecaster goes on learning; share no array with it that "
        "is written to"
    )


def check_any_cut(start: Start) -> None:
    """However samples are cut into blocks, the state is the same to the last bit."""
    stream = sample_stream()
    whole = warm_up(start, stream)
    follow(whole, stream, [WARM_UP, LENGTH])
    odd = warm_up(start, stream)
    follow(odd, stream, [*range(WARM_UP, LENGTH, 17), LENGTH])
    single = warm_up(start, stream)
    stop = WARM_UP + 9 * DAY + 5
    follow(single, stream, [*range(WARM_UP, stop), LENGTH])
    for name, other in (("17 rows", odd), ("one row, then all", single)):
        assert whole.digest() == other.digest(), (
            f"learning in blocks of {name} gives another state than learning at once; let nothing "
            "depend on where a block ends"
        )


def check_resume(start: Start) -> None:
    """Packed, unpacked and continued equals never stopped, to the last bit."""
    stream = sample_stream()
    whole = warm_up(start, stream)
    follow(whole, stream, [WARM_UP, LENGTH])
    for stop in (WARM_UP, WARM_UP + 11 * DAY + 3, WARM_UP + 25 * DAY):
        resumed = warm_up(start, stream)
        follow(resumed, stream, [WARM_UP, stop] if stop > WARM_UP else [WARM_UP])
        resumed = type(resumed).unpack(_through_bytes(resumed.pack()))
        follow(resumed, stream, [stop, LENGTH])
        assert resumed.digest() == whole.digest(), (
            f"packed at step {stop} and continued, the state differs from never having stopped; "
            "pack everything that learning depends on"
        )


def check_deployed_resume(start: Start) -> None:
    """A Deployed value that was packed and unpacked forecasts the same bytes."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    follow(forecaster, stream, [WARM_UP, WARM_UP + 8 * DAY + 2])
    deployed = forecaster.deployed
    restored = type(deployed).unpack(_through_bytes(deployed.pack()))
    ahead = stream.part(WARM_UP + 8 * DAY + 2, WARM_UP + 10 * DAY)
    powers = [each.forecast(ahead.x, ahead.at).power for each in (deployed, restored)]
    assert powers[0].tobytes() == powers[1].tobytes(), (
        "a Deployed value forecasts differently after pack and unpack; pack all it needs"
    )


def check_known_only(start: Start) -> None:
    """No measurement is used before it is known."""
    stream = sample_stream()
    cut = WARM_UP + 9 * DAY + 7
    garbled = stream.y.copy()
    garbled[cut:] = 1e3 * np.random.default_rng(1).normal(size=garbled[cut:].shape)
    forecaster = warm_up(start, stream)
    other = warm_up(start, stream)
    for low in range(WARM_UP, cut, 5):
        high = min(low + 5, cut)
        follow(forecaster, stream, [low, high])
        follow(other, stream._replace(y=garbled), [low, high])
        ahead = stream.part(high, high + DAY)
        powers = [each.deployed.forecast(ahead.x, ahead.at).power for each in (forecaster, other)]
        assert powers[0].tobytes() == powers[1].tobytes(), (
            f"a forecast issued at step {high} depends on measurements from step {cut} on"
        )
    assert forecaster.deployed.known == cut - 1, (
        f"known is {forecaster.deployed.known} after the samples up to step {cut - 1}"
    )


def check_late_readings(start: Start) -> None:
    """A late reading is learned from, however the blocks are cut."""
    stream = sample_stream()
    gap = stream.y.copy()
    gap[LATE : LATE + DAY] = np.nan
    late = stream.part(LATE, LATE + DAY)
    digests = []
    for cuts in ([0, DAY], [0, 7, DAY]):
        forecaster = warm_up(start, stream)
        follow(forecaster, stream._replace(y=gap), [WARM_UP, LATE + 2 * DAY])
        unaware = forecaster.digest()
        follow(forecaster, late, cuts)
        assert forecaster.digest() != unaware, "late readings leave no trace; take them in"
        assert forecaster.deployed.known == LATE + 2 * DAY - 1, "a late reading moves time back"
        follow(forecaster, stream, [LATE + 2 * DAY, LATE + 4 * DAY])
        digests.append(forecaster.digest())
    assert digests[0] == digests[1], "late readings in other blocks give another state"


def check_corrections(start: Start) -> None:
    """A corrected reading is held with its new value, an excluded one is no longer held."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    name, step = forecaster.names[0], WARM_UP + 3 * DAY
    follow(forecaster, stream, [WARM_UP, step + 1])
    before = forecaster.digest()
    assert forecaster.correct(step, name, float(stream.y[step, 0]) + 1.0) > 0, (
        f"the reading of step {step} is held, but correct found it nowhere"
    )
    assert forecaster.digest() != before, "a corrected reading is held as it was"
    forecaster.correct(step, name, float(np.float32(stream.y[step, 0])))
    assert forecaster.digest() == before, "a reading corrected and corrected back is another one"
    assert forecaster.forget([step], [name]) > 0, (
        f"the reading of step {step} is held, but forget found it nowhere"
    )
    assert forecaster.forget([step], [name]) == 0, "a forgotten reading is still held"
    assert forecaster.correct(step, name, 1.0) == 0, "a forgotten reading can be corrected"
    follow(forecaster, stream, [step + 1, step + 2 * DAY])


def check_join(start: Start) -> None:
    """An entity can join and leave; the others forecast as before, and it is learned between."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    stop = WARM_UP + 10 * DAY
    follow(forecaster, stream, [WARM_UP, stop])
    ahead = stream.part(stop, stop + DAY)
    before = forecaster.deployed.forecast(ahead.x, ahead.at).power
    power = 3.0 + stream.x[:, 0] + 0.5 * stream.x[:, 1]
    forecaster.add("new", *stream.part(0, stop)._replace(y=power[:stop]))
    after = forecaster.deployed.forecast(ahead.x, ahead.at).power
    assert forecaster.names[-1] == "new", "the entity that joined is not the last of names"
    assert np.allclose(before, after[:, :-1], atol=1e-4), "the others' forecasts changed"
    wide = stream._replace(y=np.column_stack([stream.y, power]))
    follow(forecaster, wide, [stop, stop + 8 * DAY])
    again = type(forecaster).unpack(_through_bytes(forecaster.pack()))
    assert again.digest() == forecaster.digest(), "the state after a join cannot be packed"
    late = wide.part(stop + 8 * DAY, stop + 9 * DAY)
    error = np.abs(forecaster.deployed.forecast(late.x, late.at).power[:, -1] - late.y[:, -1])
    assert error.mean() < wide.y[:, -1].std(), "the entity that joined is forecast badly"
    _check_leave(forecaster, late)


def _check_leave(forecaster: Forecaster, ahead: SampleStream) -> None:
    first, *others = forecaster.names
    before = forecaster.deployed.forecast(ahead.x, ahead.at).power
    forecaster.leave(first)
    after = forecaster.deployed.forecast(ahead.x, ahead.at).power
    assert forecaster.names == tuple(others), "the entity that left is still named"
    assert np.allclose(before[:, 1:], after, atol=1e-4), "one that left changed the others"
    forecaster.observe(*ahead._replace(y=ahead.y[:, 1:]))
    again = type(forecaster).unpack(_through_bytes(forecaster.pack()))
    assert again.digest() == forecaster.digest(), "the state after one left cannot be packed"


def check_memory(start: Start) -> None:
    """No more samples are held than the memory allows."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    for low in range(WARM_UP, LENGTH, 50):
        follow(forecaster, stream, [low, min(low + 50, LENGTH)])
        assert forecaster.held_samples <= forecaster.memory, (
            f"{forecaster.held_samples} samples are held at step {low + 50}, more than the "
            f"{forecaster.memory} allowed"
        )
    assert forecaster.retained_bytes > 0, "retained_bytes is 0; count what is held of the past"


def check_jobs_elsewhere(start: Start) -> None:
    """Jobs that are trained elsewhere give the same state."""
    stream = sample_stream()
    here, elsewhere = warm_up(start, stream), warm_up(start, stream)
    samples = stream.part(WARM_UP, LENGTH)
    follow(here, stream, [WARM_UP, LENGTH])
    learning = elsewhere.learn(*samples)
    count = 0
    try:
        jobs = next(learning)
        while True:
            assert jobs, "learn yields no job; yield only when there is something to train"
            count += len(jobs)
            with one_thread():
                jobs = learning.send(train(deepcopy(jobs), stack=None if here.stacked else 1))
    except StopIteration:
        pass
    assert count, "nothing was trained on a stream that drifts"
    assert here.digest() == elsewhere.digest(), (
        "jobs trained elsewhere give another state; take the results from what is sent"
    )


def check_failed_block(start: Start) -> None:
    """A block that fails leaves the state as it was."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    follow(forecaster, stream, [WARM_UP, WARM_UP + DAY])
    before = forecaster.digest()

    for stop in range(3):
        try:
            with forecaster.checkpoint():
                learning = forecaster.learn(*stream.part(WARM_UP + DAY, LENGTH))
                jobs = next(learning)
                for _ in range(stop):
                    jobs = learning.send(train(jobs))
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert forecaster.digest() == before, "a block that failed leaves a changed state"


def check_events(start: Start) -> None:
    """Every change has an event that explains itself, and versions can be activated again."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    first = forecaster.versions
    changes = follow(forecaster, stream, [WARM_UP, LENGTH])
    assert changes, "a stream that drifts causes no event"
    for event in (change.event for change in changes):
        assert len(event.explanation.split()) > 5, f"{event!r} explains nothing"
        assert 0 <= event.step <= LENGTH, f"{event!r} happened outside the stream"
    ahead = stream.part(LENGTH - DAY, LENGTH)
    before = forecaster.deployed.forecast(ahead.x, ahead.at).power
    newest = forecaster.versions
    for version in first:
        forecaster.activate(version)
    rolled_back = forecaster.deployed.forecast(ahead.x, ahead.at).power
    assert not np.array_equal(before, rolled_back), "activating an earlier version does nothing"
    for version in newest:
        forecaster.activate(version)
    restored = forecaster.deployed.forecast(ahead.x, ahead.at).power
    assert before.tobytes() == restored.tobytes(), "a version activated again forecasts otherwise"


def check_approval(start: Start) -> None:
    """With approval, a trained version waits; it is in service once it is activated."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    forecaster.require_approval()
    first = [version.number for version in forecaster.versions]
    follow(forecaster, stream, [WARM_UP, LENGTH])
    assert [version.number for version in forecaster.versions] == first, (
        "a version came into service without approval"
    )
    waiting = forecaster.candidates
    assert waiting, "no version waits for approval on a stream that drifts"
    forecaster.activate(waiting[0])
    chosen = (waiting[0].entity, waiting[0].number)
    in_service = [(version.entity, version.number) for version in forecaster.versions]
    assert chosen in in_service, "an activated candidate is not in service"
    still = any(version is waiting[0] for version in forecaster.candidates)
    assert not still, "an activated candidate still waits"


def check_rejection(start: Start) -> None:
    """Only entities that require approval wait, and a rejected candidate waits no longer."""
    stream = sample_stream()
    forecaster = warm_up(start, stream)
    chosen = forecaster.names[0]
    forecaster.require_approval(chosen)
    follow(forecaster, stream, [WARM_UP, LENGTH])
    waiting = forecaster.candidates
    assert waiting, f"no version of {chosen} waits for approval on a stream that drifts"
    assert {version.entity for version in waiting} == {chosen}, "another entity waits, too"
    before = [(version.entity, version.number) for version in forecaster.versions]
    for version in waiting:
        forecaster.reject(version)
    assert not forecaster.candidates, "a rejected candidate still waits"
    after = [(version.entity, version.number) for version in forecaster.versions]
    assert before == after, "a rejection changed the versions in service"


FORECASTER_CHECKS: tuple[Callable[[Start], None], ...] = (
    check_pure_forecasts,
    check_any_cut,
    check_resume,
    check_deployed_resume,
    check_known_only,
    check_late_readings,
    check_corrections,
    check_join,
    check_memory,
    check_jobs_elsewhere,
    check_failed_block,
    check_events,
    check_approval,
    check_rejection,
)
"""Every check, in the order in which `check_forecaster` runs them."""


def _through_bytes(packed: Packed) -> Packed:
    """The value after it was written to bytes and read again."""
    with TemporaryDirectory() as folder:
        save_state(folder, *packed)
        saved = load_state(folder)
    return Packed(saved.values, saved.tensors)
