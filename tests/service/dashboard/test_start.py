"""The page of a service without data, and the upload of an export."""

import gzip
import json

import pytest
from tests.imports.exports import instants, number, power, rows, stamps, write_text
from tests.service.application import Web

from clearwatt.service.api.security.auth import create_token

ZONE = "Europe/Warsaw"
RAW = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    yield made
    made.close()


@pytest.fixture
def export(tmp_path):
    """A Polish export: semicolons, decimal commas, local time, kWh per quarter-hour."""
    times = instants("2024-03-30", "2024-04-02", ZONE)
    truth = power(times, "PV-1", "Hala-2")
    lines = rows(stamps(times, ZONE, "%d.%m.%Y %H:%M"), truth / 4, number(",", digits=4))
    lines[5][1] = ""
    header = ["Data i godzina", "PV-1 [kWh]", "Hala-2 [kWh]"]
    path = write_text(tmp_path / "pomiary.csv", [header, *lines], ";", encoding="cp1250")
    return path.read_bytes(), truth


def upload(web, content, **fields):
    form = {"file": "C:\\dane\\pomiary.csv", "zone": "lodz", **fields}
    body = json.dumps(form).encode() + b"\n" + content
    return web.ask("POST", "/start/import", content=body, headers=RAW)


def test_a_service_without_data_says_what_to_do_first(web):
    page = web.ask("GET", "/").text
    assert "What to do first" in page
    assert 'id="upload"' in page
    assert "curl http://127.0.0.1:8000/v1/measurements" in page
    web.register("a")
    assert "What to do first" not in web.ask("GET", "/").text
    assert "Add readings" in web.ask("GET", "/start").text


def test_what_is_open_is_asked_and_nothing_is_stored(web, export):
    answer = upload(web, export[0])
    assert answer.status_code == 200
    assert 'data-answer="timezone"' in answer.text
    assert 'data-answer="interval"' in answer.text
    assert "data-send" not in answer.text
    assert upload(web, export[0], send=True).status_code == 422
    assert web.get("/v1/zones")["zones"] == []


def test_an_export_is_shown_then_stored_as_the_truth(web, export):
    content, truth = export
    told = {"answers": {"timezone": ZONE, "interval": "start"}}
    shown = upload(web, content, **told).text
    assert "First rows in UTC and kW" in shown
    assert "2024-03-29T23:00:00+00:00" in shown
    assert web.get("/v1/zones")["zones"] == []
    choice = {"PV-1": {"kind": "generator", "capacity": 5000}}
    stored = upload(
        web, content, **told, variables="wind_speed_10m, cloud_cover", entities=choice, send=True
    )
    assert "Stored:" in stored.text
    zone = web.get("/v1/zones/lodz")
    assert (zone["timezone"], zone["step"]) == (ZONE, 900)
    entity = web.get("/v1/entities/PV-1")
    assert (entity["kind"], entity["capacity"], entity["unit"]) == ("generator", 5000.0, "kW")
    found = web.get("/v1/measurements", entity="Hala-2", start="2024-03-29T00:00:00Z")
    assert found["values"][:3] == pytest.approx(truth["Hala-2"].iloc[:3].tolist(), rel=1e-4)
    gap = web.get("/v1/measurements", entity="PV-1", start="2024-03-30T00:15:00Z")
    assert gap["times"][0] == "2024-03-30T00:30:00Z"
    assert "known already" in upload(web, content, **told, send=True).text
    assert web.learner.woken >= 2


def test_a_zone_with_a_place_gets_its_weather_by_itself(web, export):
    told = {"answers": {"timezone": ZONE, "interval": "start"}, "send": True}
    assert "is not a place" in upload(web, export[0], **told, coordinates="Łódź").text
    assert "Stored:" in upload(web, export[0], **told, coordinates="51.77, 19.46").text
    zone = web.get("/v1/zones/lodz")
    assert zone["settings"]["weather"] == "open-meteo"
    assert zone["settings"]["coordinates"] == {"latitude": 51.77, "longitude": 19.46}
    assert "temperature_2m" in zone["variables"]


def hourly(*cells):
    """An hourly export of M1 and M2 in kW; cells of M2 as given."""
    lines = [f"2024-03-01 {hour:02}:00;{hour}.5;{m2}" for hour, m2 in enumerate(cells)]
    return "\n".join(["start UTC;M1 [kW];M2 [kW]", *lines]).encode()


def values_of(web, entity):
    found = web.get("/v1/measurements", entity=entity, start="2024-03-01T00:00:00Z")
    return found["values"]


def test_a_gap_in_a_file_leaves_stored_readings_as_they_are(web):
    told = {"variables": "temperature_2m", "send": True}
    assert "Stored:" in upload(web, hourly("1", "2", "3", "4"), **told).text
    assert "Stored:" in upload(web, hourly("1", "", "", "4", "5"), **told).text
    assert values_of(web, "M2") == [1, 2, 3, 4, 5]


def test_readings_beside_the_clock_are_asked_about_as_the_api_rejects_them(web):
    told = {"variables": "temperature_2m", "send": True}
    beside = hourly("1", "2", "3", "4").replace(b":00;", b":07;")
    assert 'data-answer="step"' in upload(web, beside).text
    assert upload(web, beside, **told).status_code == 422
    assert web.get("/v1/zones")["zones"] == []
    assert "Stored:" in upload(web, beside, **told, answers={"step": "60"}).text
    found = web.get("/v1/measurements", entity="M2", start="2024-03-01T00:00:00Z")
    assert found["times"][:2] == ["2024-03-01T00:00:00Z", "2024-03-01T01:00:00Z"]


def test_values_that_the_api_rejects_are_not_stored(web):
    huge = hourly("1", "1e20", "3", "4")
    answer = upload(web, huge, variables="temperature_2m", send=True)
    assert answer.status_code == 422
    assert "M2 has values above" in answer.text


def test_a_file_of_empty_cells_is_refused(web):
    empty = b"start UTC;M1 [kW]\n2024-03-01 00:00;\n2024-03-01 01:00;\n2024-03-01 02:00;"
    answer = upload(web, empty, send=True)
    assert answer.status_code == 422
    assert web.get("/v1/zones")["zones"] == []


@pytest.mark.parametrize(
    ("content", "fields", "why"),
    [
        (b"", {}, "The file is empty"),
        (b"no table here", {}, "open</span>"),
        (b"x", {"file": "a.xls"}, "save it as .xlsx"),
        (b"x", {"answers": {"unit": "horses"}}, "unit is"),
        (b"x", {"answers": {"colour": "red"}}, "unknown key"),
        (b"x", {"nothing": 1}, "this field is unknown"),
    ],
)
def test_what_cannot_be_read_is_explained(web, content, fields, why):
    answer = upload(web, content, **fields)
    assert why in answer.text
    assert "clearwatt-upload" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("name", ["..", "a/..", "x\0y.csv", "\u00e9" * 255, "a." + "b" * 250])
def test_a_file_of_any_name_is_read(web, name):
    answer = upload(web, hourly("1", "2", "3", "4"), file=name)
    assert answer.status_code == 200
    assert "data-send" in answer.text


def test_a_packed_file_is_not_unpacked_by_the_service(web):
    answer = upload(web, gzip.compress(hourly("1", "2", "3", "4")), file="m.csv.gz")
    assert answer.status_code == 422
    assert "csv.gz is packed; unpack it" in answer.text


@pytest.mark.parametrize("encoding", ["nonsense", "zlib", "idna", "a\0b"])
def test_an_encoding_that_does_not_fit_is_named_without_a_path(web, encoding):
    answer = upload(web, hourly("\u00e9", "2", "3", "4"), answers={"encoding": encoding})
    assert answer.status_code == 422
    assert "Pomiary.csv cannot be read as" in answer.text
    assert "clearwatt-upload" not in answer.text


def test_a_form_that_is_not_utf_8_is_refused(web):
    answer = web.ask("POST", "/start/import", content=b"\xff\xfe\nx", headers=RAW)
    assert answer.status_code == 422
    assert "not UTF-8" in answer.text


def test_only_who_operates_may_upload(web, export):
    reader = create_token("reader", "read")
    web.store.add_token(reader.token)
    web.app.state.context.tokens.refresh()
    mine = {**RAW, "Authorization": f"Bearer {reader.text}"}
    assert web.ask("POST", "/start/import", content=b"{}", headers=mine).status_code == 403
    page = web.ask("GET", "/", headers=mine).text
    assert 'id="upload"' not in page
    assert "clearwatt token create --role ingest" in page
