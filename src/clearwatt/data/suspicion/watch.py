"""Watches the meters of a zone: a verdict when a meter begins to lie, and when it is well again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.suspicion.evidence import Evidence
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.onset import cut_since, onset, repeated_since, unit_since
from clearwatt.data.suspicion.recovery import Past, Suspect
from clearwatt.data.suspicion.reference import Reference, features, weather_places
from clearwatt.data.suspicion.rules import Judgement, judge
from clearwatt.data.suspicion.statistics import WIDTH, day_statistics

S = TypeVar("S", bound=np.generic)

LAG = 4
"""Days until a day without suspicion is trusted."""
DAYS = 28
"""Trusted days held per entity."""
MOST_STEP = 2 * 3600
"""Longest step in seconds; with a longer one a day has too few readings to be judged."""
_CROWD = 0.34
"""Share of a zone's meters from which on a change is the world's, if it is none of one meter."""
_WILD = 3.0
"""Readings beyond the largest trusted one times this are outliers."""
MOST_DAYS = 60
"""Days after which a suspicion ends that a change of the world could have caused, too."""
LENIENT_DAYS = 14
"""Days after a suspicion that was longer than this, in which only lies of one's own are told."""
HISTORY_DAYS = 90
"""Days of a history that are used."""
_RECURS_DAYS = 7
"""Days after a suspicion within which a further one counts as the same, which comes and goes."""
_STEADY_DAYS = 4
"""Days after which a suspicion of what comes and goes ends, the first and last one as expected.

None between them is wrong; those without readings or signal count, too.
"""
_OWN = (Lie.REPLAY, Lie.UNIT, Lie.SIGN, Lie.COUNTER)
"""Lies that no event of the world looks like; they explain more than others."""


class Verdict(NamedTuple):
    """A meter lies from ``time`` on; with ``Lie.NONE`` it has been well from then on.

    A second one with the same time says better how it lies.
    """

    column: int
    lie: Lie
    time: int
    size: float = 0.0


@dataclass(eq=False)
class MeterWatch:
    """Watches `e` meters on a clock of `n` steps a day, by the inputs of their zone.

    Rows may come in any blocks in order of time; verdicts are the same. A day is judged when a row
    of a later day comes. What it holds is bounded.

    Args:
        step: Seconds between rows.
        weather: Positions of the weather among the inputs.
        day: Day (since 1970) of the rows that are not judged; -1: none.
        inputs: Features of that day, `n x m`; NaN: none.
        power: Its readings, `n x e`; NaN: none.
        last_days: Days before it, `k`; -1: none.
        last_inputs: Features of these, `k x n x m`.
        last_power: Readings of these, `k x n x e`.
        last_expected: What was expected of these, `k x n x e`.
        last_statistics: Statistics of these, `k x e x w`.
        doubted: Whether they are not to be trusted, `k x e`.
        past_power: Readings of trusted days, `h x n x e`.
        past_statistics: Statistics of trusted days, `h x e x w`.
        trusted: Days trusted so far, `e`.
        reference: What is expected by weather and hour.
        lie: Lie that each entity is suspected of, `e`.
        since: Since when, `e`.
        size: Size of the lie, `e`.
        well_since: First day as expected in a suspicion, `e`; -1: none yet.
        lenient: Day before which only lies that no event looks like are told, `e`.
        ended: Day on which the last suspicion of each entity ended, `e`; -1: none did.
    """

    step: int
    weather: tuple[int, ...]
    day: int
    inputs: Float64Array
    power: Float32Array
    last_days: Int64Array
    last_inputs: Float64Array
    last_power: Float32Array
    last_expected: Float64Array
    last_statistics: Float64Array
    doubted: BoolArray
    past_power: Float32Array
    past_statistics: Float64Array
    trusted: Int64Array
    reference: Reference
    lie: Int64Array
    since: Int64Array
    size: Float64Array
    well_since: Int64Array
    lenient: Int64Array
    ended: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        """States of earlier releases do not say when suspicions have ended."""
        if len(self.ended) != len(self.lie):
            self.ended = np.full(len(self.lie), -1, np.int64)

    @classmethod
    def start(cls, columns: Sequence[str], entities: int, *, step: int) -> Self:
        """Before the first row; ``columns`` are the names of the inputs."""
        places, rows = weather_places(columns), max(1, SECONDS_PER_DAY // step)
        width = features(np.zeros((1, len(places)), np.float32), np.zeros(1, np.int64)).shape[1]
        return cls(
            step=step,
            weather=places,
            day=-1,
            inputs=np.full((rows, width), np.nan),
            power=np.full((rows, entities), np.nan, np.float32),
            last_days=np.full(LAG, -1, np.int64),
            last_inputs=np.full((LAG, rows, width), np.nan),
            last_power=np.full((LAG, rows, entities), np.nan, np.float32),
            last_expected=np.full((LAG, rows, entities), np.nan),
            last_statistics=np.full((LAG, entities, WIDTH), np.nan),
            doubted=np.zeros((LAG, entities), np.bool_),
            past_power=np.full((DAYS, rows, entities), np.nan, np.float32),
            past_statistics=np.full((DAYS, entities, WIDTH), np.nan),
            trusted=np.zeros(entities, np.int64),
            reference=Reference.empty(entities, width),
            lie=np.zeros(entities, np.int64),
            since=np.zeros(entities, np.int64),
            size=np.zeros(entities),
            well_since=np.full(entities, -1, np.int64),
            lenient=np.zeros(entities, np.int64),
        )

    def observe(self, times: Int64Array, x: Float32Array, power: Float32Array) -> list[Verdict]:
        """Take rows in order of time; returns the verdicts of the days that have ended.

        Args:
            times: Seconds since 1970, `n`.
            x: Inputs, `n x d`; NaN: none.
            power: Readings, `n x e`, in any unit that stays; NaN: none.
        """
        return self._observe(times, x, power, judges=True)

    def learn_history(self, times: Int64Array, x: Float32Array, power: Float32Array) -> None:
        """Take rows of a history that is trusted as a whole; see `observe`."""
        recent = times >= times[-1] - HISTORY_DAYS * SECONDS_PER_DAY
        self._observe(times[recent], x[recent], power[recent], judges=False)
        self._end_day(judges=False)

    def end_days_before(self, day: int) -> list[Verdict]:
        """Judge the day whose rows are held, if it is before this one."""
        return self._end_day(judges=True) if self.day < day else []

    def _observe(
        self, times: Int64Array, x: Float32Array, power: Float32Array, *, judges: bool
    ) -> list[Verdict]:
        verdicts: list[Verdict] = []
        if self.step > MOST_STEP or SECONDS_PER_DAY % self.step:
            return verdicts
        days = times // SECONDS_PER_DAY
        for day in np.unique(days):
            if self.day < day:
                verdicts += self._end_day(judges=judges)
            rows = days == day
            self.day = int(day)
            places = times[rows] % SECONDS_PER_DAY // self.step
            self.inputs[places] = features(x[rows][:, list(self.weather)], times[rows])
            self.power[places] = power[rows]
        return verdicts

    def _end_day(self, *, judges: bool) -> list[Verdict]:
        """Take the day whose rows are held, if there is one, and judge it."""
        if self.day < 0:
            return []
        self._take_out_wild()
        expected = self.reference.expect(np.nan_to_num(self.inputs))
        expected[~np.isfinite(self.inputs).all(axis=1)] = np.nan
        comparable = np.where(np.isfinite(expected), self.power, np.float32(np.nan))
        statistics = day_statistics(comparable, expected)
        verdicts = self._conclude(self._judge(statistics), expected) if judges else []
        self._trust_oldest()
        self._shift_days(statistics, expected)
        return verdicts

    def _judge(self, statistics: Float64Array) -> Judgement:
        return judge(
            Evidence(
                day=statistics,
                last=self.last_statistics,
                ages=self.day - self.last_days,
                past=self.past_statistics,
                ranks=self._ranks(),
                power=self.power,
                trusted=self.past_power,
                earlier=self.last_power,
            )
        )

    def _ranks(self) -> Int64Array:
        """How many of the trusted days of an entity are newer than each, `h x e`.

        Before all places are taken, none is among the newest.
        """
        ranks = (self.trusted - 1 - np.arange(DAYS)[:, None]) % DAYS
        return np.where(self.trusted < DAYS, DAYS, ranks)

    def confirm(self, column: int) -> None:
        """What a suspected meter reads is real: end the suspicion, and learn what is usual anew."""
        self._end(column)
        self.doubted[:, column] = False
        self.past_power[:, :, column], self.past_statistics[:, column] = np.nan, np.nan
        self.trusted[column] = 0
        self.reference = self.reference.forget(column)

    def join(self, other: Self) -> None:
        """Watch further entities, with what another watch knows of their past."""
        for name, axis in _ENTITY_AXES.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if name.startswith("last") or name == "power":  # of other days
                theirs = np.full_like(theirs, np.nan)
            setattr(self, name, np.concatenate([mine, theirs], axis=axis))
        self.reference = self.reference.add_entities(other.reference)

    def leave(self, column: int) -> None:
        """Watch an entity no longer; nothing of it stays."""
        for name, axis in _ENTITY_AXES.items():
            setattr(self, name, np.delete(getattr(self, name), column, axis=axis))
        stay = [place for place in range(len(self.reference.days)) if place != column]
        self.reference = self.reference.select(stay)

    def _take_out_wild(self) -> None:
        """Take out readings far beyond those of trusted days, unless most are: then it is a lie."""
        with np.errstate(invalid="ignore"):
            peak = np.fmax.reduce(np.abs(self.past_power).reshape(-1, self.power.shape[1]), axis=0)
            wild = np.abs(self.power) > _WILD * peak
            nonzero = np.abs(self.power) > 1e-3 * peak
        few = wild.sum(axis=0) < 0.3 * nonzero.sum(axis=0)
        self.power[wild & few] = np.nan

    def _conclude(self, found: Judgement, expected: Float64Array) -> list[Verdict]:
        """Begin and end suspicions by the judgement of a day."""
        verdicts, begun = [], set()
        own = np.isin(found.lie, _OWN)
        known = np.isfinite(self.past_statistics[..., 0]).any(axis=0)
        crowd = (found.lie > 0) & ~own & (self.lie == 0)
        world = crowd.sum() >= 2 and crowd.sum() >= _CROWD * max(1, int(known.sum()))
        start = self.day * SECONDS_PER_DAY
        for column in np.flatnonzero((found.lie > 0) & (self.lie == 0)):
            if not own[column] and (world or self.day < self.lenient[column]):
                continue
            first = start - int(found.before[column]) * SECONDS_PER_DAY
            lie, size = Lie(int(found.lie[column])), float(found.size[column])
            time = self._onset(int(column), lie, size, first=first, expected=expected)
            self._begin(int(column), lie, time, size)
            begun.add(column)
            verdicts.append(_verdict(self, int(column)))
        recent = start - self.since < LAG * SECONDS_PER_DAY  # later it would be another lie
        for column in np.flatnonzero(own & recent & ~np.isin(self.lie, (Lie.NONE, *_OWN))):
            self.lie[column], self.size[column] = found.lie[column], found.size[column]
            verdicts.append(_verdict(self, int(column)))
        self.well_since[(found.lie > 0) | found.odd] = -1
        # The day on which a unit is set right is too large in part.
        still = own & ~((found.lie == Lie.UNIT) & (self.lie == Lie.UNIT) & (self.size > 0))
        for column in np.flatnonzero((self.lie > 0) & ~still):
            suspect = self._suspect_of(int(column), expected, loose=bool(found.loose[column]))
            if column in begun or not self._is_well_again(int(column), suspect, found):
                continue
            time = suspect.right_since(self.day + 1 - int(self.well_since[column]))
            verdicts.append(Verdict(int(column), Lie.NONE, time))
            self._end(int(column))
            if time > start:  # a day that was wrong in part is not learned as usual
                self.power[:, column] = np.nan
        for column in np.flatnonzero((self.lie > 0) & ~own & ~np.isin(self.lie, _OWN)):
            if start - self.since[column] >= MOST_DAYS * SECONDS_PER_DAY:
                verdicts.append(Verdict(int(column), Lie.NONE, start + SECONDS_PER_DAY))
                self.confirm(int(column))
        return verdicts

    def _onset(
        self, column: int, lie: Lie, size: float, *, first: int, expected: Float64Array
    ) -> int:
        """Time of the first wrong reading of a meter, by the first day that is wrong."""
        power = self._last_days_of(self.last_power, self.power, column)
        end = (self.day + 1) * SECONDS_PER_DAY
        if lie is Lie.CLIPPED:
            return cut_since(first, size, step=self.step, power=power, end=end)
        if lie is Lie.REPLAY:
            trusted = self._past_of(column).trusted
            return repeated_since(first, step=self.step, power=power, trusted=trusted, end=end)
        expected = self._last_days_of(self.last_expected, expected, column)
        if lie is Lie.UNIT:
            since = unit_since(size, step=self.step, power=power, expected=expected, end=end)
            return min(since, first + SECONDS_PER_DAY - self.step)  # later days may be right
        return onset(first, step=self.step, power=power, expected=expected, end=end)

    def _is_well_again(self, column: int, suspect: Suspect, found: Judgement) -> bool:
        """Whether a suspicion ends: by what the lie excludes, else by days as expected."""
        day = suspect.health(found.of_entity(column))
        first = self.well_since[column] < 0
        if day.well and first:
            self.well_since[column] = self.day
        if self._recurs(column):
            return day.well and self.day - self.well_since[column] >= _STEADY_DAYS - 1
        return day.well and (day.sure or not first)  # one good day may be chance

    def _recurs(self, column: int) -> bool:
        """Whether a suspicion began soon after another one of the same meter had ended."""
        since, ended = self.since[column] // SECONDS_PER_DAY, self.ended[column]
        return bool(ended >= 0 and since - ended <= _RECURS_DAYS)

    def _suspect_of(self, column: int, expected: Float64Array, *, loose: bool) -> Suspect:
        """A suspected meter on the day that is judged."""
        return Suspect(
            lie=Lie(int(self.lie[column])),
            size=float(self.size[column]),
            since=int(self.since[column]),
            power=self._last_days_of(self.last_power, self.power, column),
            expected=self._last_days_of(self.last_expected, expected, column),
            past=self._past_of(column),
            loose=loose,
            end=(self.day + 1) * SECONDS_PER_DAY,
            step=self.step,
        )

    def _past_of(self, column: int) -> Past:
        """Earlier readings of an entity."""
        trusted, last = self.past_power[..., column], self.last_power[..., column]
        return Past(trusted.astype(np.float64), last.astype(np.float64))

    def _last_days_of(
        self,
        last: npt.NDArray[np.floating[Any]],
        today: npt.NDArray[np.floating[Any]],
        column: int,
    ) -> Float64Array:
        """Values of an entity on the last days and today, in order; NaN on days without rows."""
        found = np.full((LAG + 1, len(today)), np.nan)
        ages = self.day - self.last_days
        held = (ages <= LAG) & (self.last_days >= 0)
        found[LAG - ages[held]] = last[held, :, column]
        found[LAG] = today[:, column]
        return found.ravel()

    def _begin(self, column: int, lie: Lie, time: int, size: float) -> None:
        self.lie[column], self.since[column], self.size[column] = lie, time, size
        self.doubted[self.last_days >= time // SECONDS_PER_DAY, column] = True
        wrong = self._ranks()[:, column] < self.day - LAG - time // SECONDS_PER_DAY
        self.past_power[wrong, :, column], self.past_statistics[wrong, column] = np.nan, np.nan

    def _end(self, column: int) -> None:
        """End a suspicion; after a long one, what was usual before it may be so no longer."""
        length = self.day - self.since[column] // SECONDS_PER_DAY
        self.lenient[column] = self.day + LENIENT_DAYS if length > LENIENT_DAYS else 0
        self.lie[column], self.size[column], self.well_since[column] = Lie.NONE, 0, -1
        self.ended[column] = self.day

    def _trust_oldest(self) -> None:
        """Learn from the oldest of the last days, where nothing was suspected of it."""
        if self.last_days[0] < 0:
            return
        enough = np.isfinite(self.last_power[0]).mean(axis=0) >= 0.7
        chosen = enough & ~self.doubted[0]
        self.reference = self.reference.learn(
            self.last_inputs[0], self.last_power[0].astype(np.float64), chosen
        )
        places = np.flatnonzero(chosen)
        slots = self.trusted[places] % DAYS
        self.past_power[slots, :, places] = self.last_power[0][:, places].T
        self.past_statistics[slots, places] = self.last_statistics[0, places]
        self.trusted[places] += 1

    def _shift_days(self, statistics: Float64Array, expected: Float64Array) -> None:
        """Make the day that was judged the newest of the last days."""
        suspected = self.lie > 0
        self.last_days = _push(self.last_days, np.array(self.day))
        self.last_inputs = _push(self.last_inputs, self.inputs)
        self.last_power = _push(self.last_power, self.power)
        self.last_expected = _push(self.last_expected, expected)
        self.last_statistics = _push(self.last_statistics, statistics)
        self.doubted = _push(self.doubted, suspected)
        self.day = -1
        self.inputs = np.full_like(self.inputs, np.nan)
        self.power = np.full_like(self.power, np.nan)


def _verdict(watch: MeterWatch, column: int) -> Verdict:
    """The suspicion of an entity as a verdict."""
    since, size = int(watch.since[column]), float(watch.size[column])
    return Verdict(column, Lie(int(watch.lie[column])), since, size)


_ENTITY_AXES = {
    "power": 1,
    "last_power": 2,
    "last_expected": 2,
    "last_statistics": 1,
    "doubted": 1,
    "past_power": 2,
    "past_statistics": 1,
    "trusted": 0,
    "lie": 0,
    "since": 0,
    "size": 0,
    "well_since": 0,
    "lenient": 0,
    "ended": 0,
}
"""Fields with a place for each entity, and the axis of these."""


def _push(values: npt.NDArray[S], newest: npt.NDArray[S]) -> npt.NDArray[S]:
    """Values (k x ...) without the oldest, with a newer one."""
    return np.concatenate([values[1:], np.asarray(newest, values.dtype)[None]])
