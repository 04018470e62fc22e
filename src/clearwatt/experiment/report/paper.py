"""The paper's figures: Tables 3 and 4 of *Continuous Power Forecasting*, 95 entities.

Mean and standard deviation as printed there; the baselines' autoencoder is one model, without a
deviation. The errors on validation data are from the tables' captions.
"""

from __future__ import annotations

from clearwatt.experiment.report.tables import COMPONENT_METRICS, Spread, Table

ENTITIES = 95


def _row(*figures: tuple[float, float | None]) -> dict[str, Spread]:
    keys = [metric.key for metric in COMPONENT_METRICS]
    return {
        key: Spread(mean, deviation, ENTITIES)
        for key, (mean, deviation) in zip(keys, figures, strict=False)
    }


AUTOENCODER = Table(
    name="autoencoder",
    title="Table 3: autoencoder",
    metrics=COMPONENT_METRICS,
    rows={
        "U": _row((0.003, None), (0.021, None)),
        "L": _row((0.345, None), (0.203, None)),
        "E": _row((0.249, 0.037), (0.180, 0.072), (91.270, 13.061), (13.368, 3.516)),
        "F": _row((0.243, 0.037), (0.208, 0.094), (90.365, 13.612), (12.358, 3.418)),
        "Ra": _row((0.014, 0.001), (0.053, 0.004), (0.669, 0.123), (8.442, 1.194)),
        "Re": _row((0.016, 0.008), (0.057, 0.019), (1.503, 1.457), (8.253, 0.725)),
        "ReD": _row((0.016, 0.010), (0.058, 0.023), (1.533, 1.418), (8.895, 0.788)),
        "G": _row((0.011, 0.001), (0.045, 0.005), (0.551, 0.215), (13.484, 3.008)),
    },
)

PREDICTOR = Table(
    name="predictor",
    title="Table 4: predictor",
    metrics=COMPONENT_METRICS,
    rows={
        "U": _row((0.037, 0.017), (0.142, 0.083)),
        "L": _row((0.157, 0.074), (0.165, 0.102)),
        "E": _row((0.116, 0.059), (0.140, 0.079), (2.057, 1.427), (6.147, 1.941)),
        "F": _row((0.112, 0.060), (0.135, 0.076), (2.081, 1.506), (5.505, 2.257)),
        "Ra": _row((0.086, 0.043), (0.159, 0.083), (1.079, 1.099), (7.011, 2.075)),
        "Re": _row((0.080, 0.040), (0.161, 0.085), (1.925, 1.537), (6.874, 1.842)),
        "ReD": _row((0.083, 0.040), (0.158, 0.082), (2.116, 1.616), (6.895, 1.861)),
        "G": _row((0.046, 0.025), (0.152, 0.086), (0.344, 0.587), (13.484, 3.008)),
    },
)

TABLES: dict[str, Table] = {table.name: table for table in (AUTOENCODER, PREDICTOR)}

VALIDATION = {
    ("autoencoder", "L"): Spread(0.005, None, ENTITIES),
    ("autoencoder", "U"): Spread(0.003, None, ENTITIES),
    ("predictor", "L"): Spread(0.037, 0.020, ENTITIES),
    ("predictor", "U"): Spread(0.041, 0.020, ENTITIES),
}
