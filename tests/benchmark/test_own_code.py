"""Strategies and networks of a user's own module among the peers."""

from dataclasses import replace

import pytest
from tests.own_module import enter_module

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.peers import choose_instances, choose_peers
from clearwatt.benchmark.peers.clear import Clear
from clearwatt.benchmark.run import Benchmark, run
from clearwatt.compute import executor
from clearwatt.errors import ConfigurationError
from clearwatt.training.fleet import Training


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """The name of a module in the working directory."""
    return enter_module(tmp_path, monkeypatch, request)


def test_own_instances_are_peers_with_their_names(module):
    mixed, recent, adaptive = choose_instances([f"{module}:Mixed", "Re", "A"])
    assert (mixed.key, mixed.label) == ("clear-mixed", "CLeaR, Mixed")
    assert (recent, adaptive) == choose_peers(["clear-re", "clear-adaptive"])
    (wired,) = choose_instances(["Ra"], {"predictor": f"{module}:shallow"})
    assert (wired.key, wired.label) == ("clear-ra-shallow", "CLeaR, RandomReplay, shallow")


def test_mistakes_are_told(module):
    with pytest.raises(ConfigurationError, match="is unknown; choose from E, F"):
        choose_instances(["X"])
    with pytest.raises(ConfigurationError, match="not a strategy"):
        choose_instances([f"{module}:shallow"])
    with pytest.raises(ConfigurationError, match="'A' has networks of its own"):
        choose_instances(["A"], {"predictor": f"{module}:shallow"})
    with pytest.raises(ConfigurationError, match="two peers are called 'clear-mixed'"):
        Benchmark(peers=(Clear(f"{module}:Mixed"), Clear("elsewhere:Mixed")))


def test_records_are_used_until_the_code_changes(module, grid, phases, tmp_path):
    (peer,) = choose_instances([f"{module}:Mixed"], {"predictor": f"{module}:shallow"})
    quick = replace(peer.experiment, warmup=Training(epochs=2), update=Training(epochs=1))
    benchmark = Benchmark((replace(peer, experiment=quick),), entities=("mill",), phases=phases)

    def finished():
        with executor("serial") as compute:
            return list(run(benchmark, grid, tmp_path / "out", compute=compute))

    assert finished()[0].done == 0
    assert [row.label for row in Leaderboard.read(tmp_path / "out").rows] == [peer.label]
    assert finished()[0].done == 1
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("# another idea\n")
    assert finished()[0].done == 0
