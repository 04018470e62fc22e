import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.feeds.topics import TopicPattern, match_first


@pytest.mark.parametrize(
    ("pattern", "filter_", "topic", "names"),
    [
        ("{zone}/{entity}/power", "+/+/power", "north/park/power", ("north", "park")),
        ("site/{entity}/#", "site/+/#", "site/park/a/b", (None, "park")),
        ("site/{entity}/#", "site/+/#", "site/park", (None, "park")),
        ("+/{entity}", "+/+", "x/park", (None, "park")),
        ("power", "power", "power", (None, None)),
    ],
)  # fmt: skip
def test_names_are_found_in_topics_that_match(pattern, filter_, topic, names):
    made = TopicPattern(pattern)
    assert made.filter == filter_
    found = made.match(topic)
    assert (found.get("zone"), found.get("entity")) == names


@pytest.mark.parametrize("topic", ["site/park", "site/park/power/x", "other/park/power", ""])
def test_other_topics_do_not_match(topic):
    assert TopicPattern("site/{entity}/power").match(topic) is None
    assert match_first([TopicPattern("x"), TopicPattern("site/{entity}/power")], topic) is None


@pytest.mark.parametrize("text", ["", "a/{meter}", "m-{entity}", "{entity}/{entity}", "a+", "#/a"])
def test_patterns_that_mqtt_or_the_service_does_not_know_are_refused(text):
    with pytest.raises(ConfigurationError):
        TopicPattern(text)
