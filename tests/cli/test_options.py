import argparse

import pandas as pd
import pytest

from clearwatt.cli.options import (
    add_executor_options,
    add_json_option,
    add_list_option,
    add_without_option,
    delay_option,
    entity_choice,
)
from clearwatt.errors import ConfigurationError


@pytest.mark.parametrize(
    ("words", "choice"),
    [
        (None, None),
        (["all"], "all"),
        (["3"], 3),
        (["farm"], ("farm",)),
        (["farm", "3"], ("farm", "3")),
        (["all", "farm"], ("all", "farm")),
    ],
)
def test_entities_are_a_number_all_or_names(words, choice):
    assert entity_choice(words) == choice


def test_a_delay_is_in_hours():
    assert delay_option(argparse.Namespace(delay=1.5)) == pd.Timedelta(minutes=90)


@pytest.mark.parametrize("delay", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_delay_is_refused(delay):
    with pytest.raises(ConfigurationError, match=f"--delay is {delay}; give hours"):
        delay_option(argparse.Namespace(delay=delay))


def test_shared_options_have_their_defaults_and_values():
    parser = argparse.ArgumentParser()
    for add in (add_json_option, add_without_option, add_executor_options):
        add(parser)
    assert vars(parser.parse_args([])) == {
        "json": False,
        "without": None,
        "executor": "processes",
        "workers": None,
        "ray_address": None,
    }
    given = parser.parse_args(["--json", "--without", "a", "b", "--executor", "ray"])
    assert (given.json, given.without, given.executor) == (True, ["a", "b"], "ray")


def test_an_option_with_several_values_may_be_repeated():
    parser = argparse.ArgumentParser()
    add_list_option(parser, "--scale", "N", "factors", parse=float)
    assert parser.parse_args([]).scale == []
    assert parser.parse_args(["--scale", "1", "2", "--scale", "0.5"]).scale == [1.0, 2.0, 0.5]
