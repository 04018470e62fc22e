import base64

import numpy as np
import pandas as pd

from clearwatt.report.plots import axis_title, packed_array, plotly_text, plotly_time


def test_a_packed_array_has_single_precision_and_its_shape():
    values = np.arange(6, dtype=np.float64).reshape(2, 3)
    packed = packed_array(values)
    assert (packed["dtype"], packed["shape"]) == ("f4", "2, 3")
    numbers = np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")
    assert numbers.tolist() == values.ravel().tolist()
    assert "shape" not in packed_array(values[0])


def test_texts_are_escaped_but_for_quotes():
    assert plotly_text("<b>'a' & \"b\"") == "&lt;b&gt;'a' &amp; \"b\""


def test_an_axis_has_its_unit_or_says_that_there_is_none():
    assert axis_title("power", "kW") == "power [kW]"
    assert axis_title("power", "") == "power [unit as recorded]"


def test_times_are_written_as_plotly_parses_them():
    assert plotly_time(pd.Timestamp("2024-03-31T12:15Z")) == "2024-03-31 12:15:00"
