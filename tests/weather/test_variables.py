"""Which weather a zone needs."""

import pytest

from clearwatt.data.schema import Entity, Kind
from clearwatt.weather import default_variables, require_known
from clearwatt.weather.variables import variables_of


def entity(kind, technology=""):
    return Entity("e", kind, 1.0, "z", {"technology": technology})


def test_a_wind_farm_needs_no_sun_and_a_solar_park_no_wind_aloft():
    wind = variables_of([entity(Kind.GENERATOR, "Wind onshore")], step=3600)
    assert {"wind_speed_10m", "wind_speed_80m", "wind_speed_120m", "wind_u_80m"} <= set(wind)
    assert not any("radiation" in name for name in wind)
    solar = variables_of([entity(Kind.GENERATOR, "PV")], step=3600)
    assert {"shortwave_radiation", "direct_radiation", "diffuse_radiation"} <= set(solar)
    assert not any("80m" in name for name in solar)


def test_a_zone_has_the_variables_of_all_its_entities():
    both = variables_of([entity(Kind.GENERATOR, "wind"), entity(Kind.CONSUMER)], step=3600)
    assert {"wind_speed_120m", "relative_humidity_2m"} <= set(both)
    everything = default_variables((), step=3600)
    assert set(both) <= set(everything)
    assert set(variables_of([entity(Kind.GENERATOR)], step=3600)) <= set(everything)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("step", [900, 3600])
def test_defaults_are_known_and_named_once(kind, step):
    found = default_variables([kind], step=step)
    require_known(found)
    assert len(set(found)) == len(found)
    means = [name for name in found if name.endswith("_radiation")]
    assert bool(means) == (step == 3600)
