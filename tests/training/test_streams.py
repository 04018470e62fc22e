"""Streams hand out jobs; whoever drives them trains what all of them wait for at once."""

from dataclasses import replace

import torch

from clearwatt.training import streams as streams_module
from clearwatt.training.fleet import Job, Trained, Training, train
from clearwatt.training.networks import Predictor
from clearwatt.training.streams import Stream, drive, run_together


def countdown(name: str, rounds: int, log: list[str]) -> Stream[str]:
    for step in range(rounds):
        answer = yield (f"{name}{step}",)
        log.append(f"{name}:{answer[0]}")
    return name


def answered(stream):
    """Answer each job with itself in capitals; give the rounds and the result."""
    rounds = []
    try:
        jobs = next(stream)
        while True:
            rounds.append(jobs)
            jobs = stream.send([job.upper() for job in jobs])
    except StopIteration as stop:
        return rounds, stop.value


def test_streams_wait_together_and_get_their_own_results():
    log: list[str] = []
    streams = [countdown("a", 1, log), countdown("b", 3, log), countdown("c", 0, log)]
    rounds, results = answered(run_together(streams))
    assert rounds == [("a0", "b0"), ("b1",), ("b2",)]
    assert log == ["a:A0", "b:B0", "b:B1", "b:B2"]
    assert results == ["a", "b", "c"]


def test_nothing_to_run_gives_nothing():
    assert answered(run_together([])) == ([], [])


def test_a_stream_without_jobs_just_ends():
    assert drive(countdown("x", 0, [])) == "x"


def jobs_of_one_network() -> Stream[list[Trained]]:
    network = Predictor(inputs=2, width=6, layers=2)
    x = torch.rand(40, 2)
    jobs = tuple(
        Job(network, network.initialise([seed]), x, x[:, :1] + seed, Training(epochs=5), seed=seed)
        for seed in range(3)
    )
    trained = yield jobs
    return list(trained)


def test_jobs_that_are_not_stacked_give_what_each_gives_alone():
    torch.manual_seed(0)
    found = drive(jobs_of_one_network(), stacked=False)
    torch.manual_seed(0)
    (*jobs,) = next(jobs_of_one_network())
    for mine, job in zip(found, jobs, strict=True):
        (alone,) = train([job])
        for name, tensor in alone.params.items():
            assert torch.equal(mine.params[name], tensor)


def update_twice(seed: int, shift: float, log: list[list[Trained]]) -> Stream[Trained]:
    """Two updates; the shift changes the targets of the second."""
    network = Predictor(inputs=2, width=6, layers=2)
    x = torch.linspace(0, 1, 80).view(40, 2)
    job = Job(network, network.initialise([seed]), x, x[:, :1], Training(epochs=3), seed=seed)
    (first,) = yield (job,)
    (second,) = yield (replace(job, params=first.params, targets=x[:, :1] + shift, seed=7),)
    log.append([first, second])
    return second


def test_equal_jobs_train_once_and_lead_to_the_same_results(monkeypatch):
    """Also if they come in different rounds, as of configurations with other autoencoders."""
    rounds: list[int] = []

    def counted(jobs, *, stack=None):
        rounds.append(len(jobs))
        return train(jobs, stack=stack)

    def later(stream: Stream[Trained]) -> Stream[Trained]:
        yield jobs_alone()
        return (yield from stream)

    def jobs_alone() -> tuple[Job, ...]:
        network = Predictor(inputs=2, width=4, layers=1)
        x = torch.ones(8, 2)
        return (Job(network, network.initialise([9]), x, x[:, :1], Training(epochs=1), seed=9),)

    def together() -> Stream[list[Trained]]:
        log: list[list[Trained]] = []
        streams = [update_twice(0, shift, log) for shift in (0.0, 1.0)]
        streams += [later(update_twice(0, 0.0, log)), update_twice(1, 0.0, log)]
        return run_together(streams)

    monkeypatch.setattr(streams_module, "train", counted)
    every = drive(together())
    assert rounds == [4, 4, 1]
    rounds.clear()
    reused = drive(together(), reuse=True)
    assert rounds == [3, 3, 0]
    for one, other in zip(every, reused, strict=True):
        for name, tensor in one.params.items():
            torch.testing.assert_close(other.params[name], tensor)
    assert not torch.equal(reused[0].params["layers.0.bias"], reused[1].params["layers.0.bias"])
