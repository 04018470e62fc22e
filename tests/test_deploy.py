"""What is in deploy/ speaks of metrics, options and addresses that exist."""

import re
from pathlib import Path

import pytest

from clearwatt.cli.main import build_parser

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = ("clearwatt.service", "clearwatt-node@.service")


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def test_alerts_are_about_documented_metrics():
    documented = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bclearwatt_[a-z_]+", text_of("clearwatt-alerts.yml")))
    assert len(named) > 8
    for name in named:
        assert f"`{name}" in documented, name


def test_prometheus_reads_the_alerts_that_are_there():
    (rules,) = re.findall(r"rule_files:\n  - (\S+)", text_of("prometheus.yml"))
    assert (DEPLOY / rules).is_file()


@pytest.mark.parametrize("role", ["web", "learner"])
def test_a_node_is_started_with_options_it_knows(role):
    command = re.search(r"^ExecStart=\S+/clearwatt (.*)$", text_of("clearwatt-node@.service"), re.M)
    words = command[1].replace("${STATE_DIRECTORY}", "/data").replace("$OPTIONS", "")
    options = build_parser().parse_args(words.replace("%i", role).split())
    assert (options.role, options.data_dir) == (role, Path("/data"))


def test_the_units_of_nodes_and_of_the_service_protect_the_machine_alike():
    after = "# The service needs only its own directory and its port."
    parts = [text_of(name).partition(after)[2] for name in UNITS]
    assert parts[0] == parts[1] != ""


@pytest.mark.parametrize("name", ["clearwatt.service", "Containerfile"])
def test_the_service_is_started_with_options_it_knows(name):
    if name == "Containerfile":
        words = re.findall(r'"([^"]+)"', re.search(r"^CMD \[(.*)\]", text_of(name), re.M)[1])
    else:
        command = re.search(r"^ExecStart=\S+/clearwatt (.*)$", text_of(name), re.M)[1]
        words = command.replace("${STATE_DIRECTORY}", "/data").replace("$OPTIONS", "").split()
    options = build_parser().parse_args(words)
    assert options.data_dir == Path("/data")


def test_the_feed_is_started_with_options_it_knows():
    unit = text_of("clearwatt-feed@.service")
    command = re.search(r"^ExecStart=\S+/clearwatt (.*)$", unit, re.M)[1]
    guide = (ROOT / "docs" / "feeds.md").read_text(encoding="utf-8")
    (given,) = re.findall(r'^OPTIONS="(.*)"$', guide, re.M)
    options = build_parser().parse_args(command.replace("$OPTIONS", given).split())
    assert options.topic == ["site/{entity}/power"]
    for variable in ("CLEARWATT_TOKEN", "CLEARWATT_MQTT_USER", "CLEARWATT_MQTT_PASSWORD"):
        assert variable in unit
        assert f"{variable}=" in guide


def test_the_image_copies_what_exists_and_asks_for_health():
    image = text_of("Containerfile")
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.M):
        for name in line.split():
            assert (ROOT / name).exists(), name
    assert "/healthz" in image
    assert re.search(r"^USER (?!root)", image, re.M)


def test_options_in_the_guide_exist():
    guide = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (clearwatt [^\n#]*)", guide, re.M)
    assert len(commands) > 5
    for command in commands:
        build_parser().parse_args(command.split()[1:])
