"""Peers are chosen by key, by family or all."""

import pytest

from clearwatt.benchmark.peers import PEERS, QUICK, choose_peers
from clearwatt.errors import ConfigurationError


def test_peers_are_chosen_by_key_by_family_and_all():
    assert choose_peers(None) == choose_peers(["all"]) == PEERS
    assert [peer.key for peer in choose_peers(["river-arf", "persistence"])] == [
        "persistence-24h",
        "persistence-168h",
        "river-arf",
    ]
    assert [peer.key for peer in choose_peers(["lightgbm-lags"])] == ["lightgbm-lags"]
    assert tuple(peer.key for peer in choose_peers(["quick"])) == QUICK


def test_keys_are_unique():
    assert len({peer.key for peer in PEERS}) == len({peer.label for peer in PEERS}) == len(PEERS)


def test_an_unknown_peer_is_told_with_those_there_are():
    with pytest.raises(ConfigurationError, match=r"no peer 'prophet'.*lightgbm-weekly"):
        choose_peers(["prophet"])
