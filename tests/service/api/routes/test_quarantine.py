"""Quarantined readings."""

from tests.service.application import reading

from clearwatt.service.times import text


def test_quarantined_readings_are_listed_released_and_dropped(learned):
    service = learned.service
    start = 320
    service.weather(start, start + 200)
    wild = [int(service.world.times[start + k]) for k in (10, 40)]
    items = [reading("e0", time, 5000.0) for time in wild]
    learned.post("/v1/measurements", {"measurements": items})
    service.send(start, start + 10)
    later = service.world.readings(start + 11, start + 100, service.numbers)
    service.store.add_readings(
        later[~((later["entity"] == service.numbers[0]) & (later["time"] == wild[1]))], at=0.0
    )
    service.catch_up()
    held = learned.get("/v1/quarantine", entity="e0")["readings"]
    assert {each["time"] for each in held} == set(map(text, wild))
    assert all(each["reason"] and each["value"] == 5000.0 for each in held)
    first, second = ({"items": [{"entity": "e0", "time": text(time)}]} for time in wild)
    assert len(learned.post("/v1/quarantine/drop", first)["commands"]) == 1
    learned.post("/v1/quarantine/release", second)
    service.catch_up()
    assert learned.get("/v1/quarantine")["readings"] == []
    learned.refused(409, "POST", "/v1/quarantine/drop", json=first)
    stranger = {"items": [{"entity": "nobody", "time": text(wild[0])}]}
    learned.refused(404, "POST", "/v1/quarantine/release", json=stranger)
