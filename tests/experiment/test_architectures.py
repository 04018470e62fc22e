from clearwatt.experiment.architectures import Networks


def test_table_1_has_24_autoencoders_72_variational_ones_and_6_predictors():
    table = Networks()
    plain = table.representations(23, variational=False)
    variational = table.representations(23, variational=True)
    predictors = table.predictors(14)
    assert (len(set(plain)), len(set(variational)), len(set(predictors))) == (24, 72, 6)
    assert {network.latent for network in plain} == {12, 14, 16, 18}
    assert {network.inputs for network in predictors} == {14}
