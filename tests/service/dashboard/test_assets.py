"""What pages load: named by its content, compressed, and nothing beside it."""

import re
from importlib.resources import files

import pytest
from tests.service.application import Web

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.dashboard.assets import PLOTLY, address


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.store.add_token(create_token("somebody", "read").token)
    yield made
    made.close()


def test_whoever_logs_in_needs_the_looks_before(web):
    answer = web.ask("GET", address("base.css"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]


def test_plotly_comes_from_its_wheel(web):
    answer = web.ask("GET", address(PLOTLY), headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    own = (files("plotly") / "package_data" / PLOTLY).read_bytes()
    assert answer.content.endswith(own), "a line that says how to compile it may come before"
    assert answer.content.removesuffix(own).startswith(b"//")
    assert int(answer.headers["content-length"]) < len(answer.content) / 2


def test_a_file_without_its_mark_is_asked_for_again_and_not_sent_again(web):
    first = web.ask("GET", "/static/page.js", headers={"Accept-Encoding": "identity"})
    assert first.headers["cache-control"] == "no-cache"
    again = {"If-None-Match": first.headers["etag"], "Accept-Encoding": "gzip"}
    answer = web.ask("GET", "/static/page.js", headers=again)
    assert (answer.status_code, answer.content) == (304, b"")
    other = web.ask("GET", "/static/page.js", headers={"If-None-Match": '"another"'})
    assert other.content == first.content


@pytest.mark.parametrize("name", ["nothing.js", "..%2f..%2fapp.py", "__init__.py", "%00"])
def test_nothing_else_is_ever_sent(web, name):
    assert web.ask("GET", f"/static/{name}").status_code in (401, 404)


def test_what_scripts_import_is_there():
    folder = files("clearwatt.service.dashboard") / "static"
    scripts = [each for each in folder.iterdir() if each.name.endswith(".js")]
    for script in scripts:
        for name in re.findall(r'from "\./([^"]+)"', script.read_text("utf-8")):
            assert (folder / name).is_file(), f"{script.name} imports {name}"
