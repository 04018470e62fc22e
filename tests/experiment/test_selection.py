"""The selection of trials in a run."""


def test_one_trial_per_configuration_and_entity_is_recorded_and_one_chosen(done, tiny):
    _, results = done
    trials = results["trials"]
    assert len(trials) == len(tiny.configurations) * 3
    chosen = [(t["instance"], t["entity"]) for t in trials if t["chosen"]]
    assert len(chosen) == len(set(chosen)) == 7 * 3


def test_the_lowest_fitting_error_is_chosen_and_only_it_is_tested(done):
    _, results = done
    for trial in results["trials"]:
        rivals = [
            other["predictor"]["fitting_error"]
            for other in results["trials"]
            if (other["instance"], other["entity"]) == (trial["instance"], trial["entity"])
        ]
        best = trial["predictor"]["fitting_error"] == min(rivals)
        assert trial["chosen"] == best
        for component in (
            ("autoencoder", "predictor") if trial["instance"] != "A" else ("predictor",)
        ):
            assert (trial[component]["prediction_error"] is not None) == best


def test_only_the_models_of_chosen_trials_are_kept(done):
    out, _ = done
    assert len(list((out / "finalists").iterdir())) == 7 * 3
