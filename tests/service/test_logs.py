"""One line of JSON per record, whatever is logged, and no secret in any of them."""

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest

from clearwatt.service.logs import (
    REPEATED,
    JsonFormatter,
    RepetitionFilter,
    configure_logging,
    redact,
)

SECRET = "q7Zx-9_Kd0sW2mN4"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Configured logs, and logging as it was before, after the test."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    written = io.StringIO()
    configure_logging("info", stream=written)
    yield written
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_one_line_with_its_fields(stream):
    logging.getLogger("clearwatt.service.learner.process").warning(
        "update took %d s\nand then some", 4, extra={"zone": "north", "updates": 3}
    )
    (line,) = lines(stream)
    assert line["event"] == "update took 4 s\nand then some"
    assert line["level"] == "warning"
    assert line["logger"] == "clearwatt.service.learner.process"
    assert (line["zone"], line["updates"]) == ("north", 3)
    assert str(line["ts"]).endswith("Z")


def test_levels_below_the_chosen_one_are_not_written(stream):
    logging.getLogger("clearwatt").debug("detail")
    assert lines(stream) == []


def test_an_exception_says_what_and_where_but_shows_no_source(stream):
    def fail() -> None:
        secret_local = SECRET  # its line must not be shown
        raise ValueError(f"bad value in {len(secret_local)} places")

    try:
        fail()
    except ValueError:
        logging.getLogger("clearwatt").exception("failed")
    (line,) = lines(stream)
    assert line["error"] == "ValueError: bad value in 16 places"
    assert any("test_logs.py" in place and "fail" in place for place in line["where"])
    assert "secret_local" not in stream.getvalue()
    assert "Traceback" not in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"authorization: basic {SECRET}",
        f"GET /v1/events?token={SECRET}&limit=3",
        f"cw_ab12_{SECRET} was refused",
        f"connecting to postgresql://ada:{SECRET}@db.example:5432/clearwatt",
        f"connecting to postgresql://ada:p@ss@{SECRET}@db.example/clearwatt",
        f"host=db user=ada password={SECRET} dbname=clearwatt",
        f"host=db password='{SECRET} and more'",
        f'{{"password": "{SECRET}"}}',
    ],
)
def test_secrets_are_replaced_wherever_they_stand(stream, text):
    log = logging.getLogger("clearwatt")
    log.info(text)
    log.info("%s", text)
    log.info("nested", extra={"request": {"headers": [text]}, "note": text})
    try:
        raise RuntimeError(text)
    except RuntimeError:
        log.exception("failed")
    assert len(lines(stream)) == 4
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize("name", ["Authorization", "token", "db_password", "client_secret"])
def test_fields_named_like_secrets_are_hidden(stream, name):
    logging.getLogger("clearwatt").info("headers", extra={"headers": {name: SECRET}})
    assert SECRET not in stream.getvalue()
    assert lines(stream)[0]["headers"] == {name: "***"}


def test_what_is_not_secret_stays():
    text = "postgresql://ada:hidden@db.example:5432/clearwatt at 12:15:00 by cw_ab12_hidden"
    assert (
        redact(text) == "postgresql://ada:***@db.example:5432/clearwatt at 12:15:00 by cw_ab12_***"
    )
    assert redact("https://example.org/a:b and 3 tokens") == "https://example.org/a:b and 3 tokens"


def test_requests_of_uvicorn_come_in_fields(stream):
    logging.getLogger("uvicorn.access").info(
        '%s - "%s %s HTTP/%s" %d', "127.0.0.1:9", "GET", f"/v1/zones?token={SECRET}", "1.1", 200
    )
    (line,) = lines(stream)
    assert (line["event"], line["method"], line["status"]) == ("request", "GET", 200)
    assert line["path"] == "/v1/zones?token=***"


def test_uvicorn_writes_through_it(stream):
    from uvicorn import Config

    Config(app="none:app", log_config=None)
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
    (line,) = lines(stream)
    assert line["event"] == "Started server process [7]"
    assert "color_message" not in line


def test_what_json_cannot_hold_is_written_as_text(stream):
    logging.getLogger("clearwatt").info("odd", extra={"a": float("nan"), "b": {1, 2}, "c": object})
    (line,) = lines(stream)
    assert line["a"] == "nan"
    assert sorted(line["b"]) == [1, 2]
    assert line["c"] == "<class 'object'>"


def test_arguments_that_do_not_fit_do_not_cost_the_record():
    record = logging.LogRecord("clearwatt", logging.INFO, "x.py", 1, "%d readings", ("many",), None)
    assert json.loads(JsonFormatter().format(record))["event"] == "%d readings"


def test_warnings_are_records(stream):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old call", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(False)
    assert any("old call" in str(line["event"]) for line in lines(stream))


def test_an_error_that_repeats_is_counted_instead_of_written_again(stream):
    log = logging.getLogger("asyncio")
    for _ in range(1000):
        log.error("socket.accept() out of system resource")
    log.error("something else")
    assert len(lines(stream)) == REPEATED + 1


def test_after_a_while_the_number_of_repetitions_is_written():
    record = logging.makeLogRecord({"name": "asyncio", "levelno": logging.ERROR, "msg": "again"})
    repetitions = RepetitionFilter(window=60)
    written = 0
    for seconds in (0.0,) * 100 + (61.0,):
        record.created = seconds
        written += repetitions.filter(record)
    assert written == REPEATED + 1
    assert vars(record)["repeated"] == 100 - REPEATED


def test_lines_that_are_no_trouble_are_never_left_out(stream):
    for _ in range(3 * REPEATED):
        logging.getLogger("clearwatt").info("update")
    assert len(lines(stream)) == 3 * REPEATED
