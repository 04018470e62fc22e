import json

import pytest

from clearwatt.feeds.payloads import PayloadFormat

NOON = 1_717_243_200  # 2024-06-01 12:00 UTC


def read(payload: object, **options):
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return PayloadFormat(**options).read(content)


@pytest.mark.parametrize(
    "given",
    [
        "2024-06-01T12:00:00Z",
        "2024-06-01T14:00:00+02:00",
        "2024-06-01T12:00:00.000Z",
        NOON,
        float(NOON),
        NOON * 1000,
    ],
)
def test_times_are_text_with_an_offset_or_a_number_since_1970(given):
    (item,) = read({"time": given, "value": 1})
    assert (item.time, item.fault) == (NOON, None)


def test_local_times_need_a_time_zone_and_are_refused_where_the_clock_changes():
    (item,) = read({"time": "2024-06-01T14:00:00", "value": 1}, timezone="Europe/Berlin")
    assert item.time == NOON
    (item,) = read({"time": "2024-06-01T14:00:00", "value": 1})
    assert "no time zone" in item.fault
    for changed in ("2024-10-27T02:30:00", "2024-03-31T02:30:00"):
        (item,) = read({"time": changed, "value": 1}, timezone="Europe/Berlin")
        assert "change of the clock" in item.fault


def test_keys_lead_into_nested_objects():
    payload = {"Time": "2024-06-01T12:00:00Z", "ENERGY": {"Power": 12, "a.b": 1}, "a.b": 2}
    (item,) = read(payload, time_key="Time", value_key="ENERGY.Power")
    assert (item.time, item.value) == (NOON, 12.0)
    (item,) = read(payload, time_key="Time", value_key="a.b")
    assert item.value == 2.0


def test_a_list_is_as_many_readings_and_a_bad_one_is_alone():
    items = read([{"value": 1}, {"value": "x"}, 3, {"price": 4}])
    assert [item.value for item in items] == [1.0, None, 3.0, None]
    assert [item.fault is None for item in items] == [True, False, True, False]
    assert json.loads(items[3].text) == {"price": 4}


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"12,5", "neither JSON nor a number"),
        (b"NaN", "neither JSON nor a number"),
        (b"\xff\xfe", "not text"),
        (b"[" * 100_000, "neither JSON nor a number"),
        (b"true", "must be a number"),
        (b"1e999", "send null"),
        ({"value": 1, "time": True}, "a time is text"),
        ({"value": 1, "time": "soon"}, "RFC 3339"),
        ({"value": 1, "time": 10**400}, "between 1990 and 2199"),
        ({"value": 1, "time": -1e300}, "between 1990 and 2199"),
        ({"value": 1, "time": "0001-01-01T00:00:00.5Z"}, "between 1990 and 2199"),
        ({"value": 1, "entity": 7}, "must be text"),
        ({"value": 1, "unit": "kvar"}, "kvar"),
        ({"power": 1}, "no 'value'"),
    ],
)
def test_faults_name_what_is_wrong(payload, says):
    (item,) = read(payload)
    assert says in item.fault
