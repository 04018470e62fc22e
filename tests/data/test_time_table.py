"""Reading tables: local clocks, mixed offsets, and the small liberties of CSV and Parquet."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import load_dataset
from clearwatt.errors import DataError


def local_quarters(day: str, zone: str = "Europe/Berlin") -> pd.DatetimeIndex:
    """All quarter-hours of one local day: 92, 96 or 100 of them."""
    end = pd.Timestamp(day) + pd.Timedelta(days=1)
    return pd.date_range(day, end, freq="15min", tz=zone, inclusive="left", name="time")


def put_on_clock(folder: Path, times: pd.DatetimeIndex, *, parquet: bool) -> None:
    """Rewrite the folder's tables to these local times, hourly weather around them."""
    first, last = times.tz_convert("UTC")[[0, -1]]
    hours = pd.date_range(first.floor("h"), last.ceil("h"), freq="h", name="time").tz_convert(
        times.tz
    )
    ramp = np.arange(len(times), dtype=np.float32)
    tables = {
        "power": pd.DataFrame({"park": ramp, "house": ramp}, index=times),
        "weather": pd.DataFrame({"town__ghi_wm2": np.arange(float(len(hours)))}, index=hours),
    }
    for name, table in tables.items():
        (folder / f"{name}.csv").unlink()
        if parquet:
            table.reset_index().to_parquet(folder / f"{name}.parquet")
        else:
            table.set_axis([t.isoformat() for t in table.index]).to_csv(
                folder / f"{name}.csv", index_label="time"
            )


def test_time_may_be_the_parquet_index(csv_folder):
    data = load_dataset(csv_folder)
    (csv_folder / "power.csv").unlink()
    data.power.to_parquet(csv_folder / "power.parquet")
    assert load_dataset(csv_folder).equals(data)


def test_columns_may_come_in_any_order_and_a_byte_order_mark_is_fine(csv_folder):
    table = pd.read_csv(csv_folder / "power.csv")
    table[["house", "time", "park"]].to_csv(
        csv_folder / "power.csv", index=False, encoding="utf-8-sig"
    )
    assert load_dataset(csv_folder).power.columns.tolist() == ["park", "house"]


@pytest.mark.parametrize("parquet", [True, False], ids=["parquet", "csv"])
@pytest.mark.parametrize(
    ("day", "quarters"), [("2024-03-31", 92), ("2024-06-01", 96), ("2024-10-27", 100)]
)
def test_daylight_saving_days(csv_folder, day, quarters, parquet):
    times = local_quarters(day)
    put_on_clock(csv_folder, times, parquet=parquet)
    data = load_dataset(csv_folder)
    assert len(data.times) == quarters
    assert str(data.times.tz) == "UTC"
    assert (data.times == times).all()
    assert data.power["park"].tolist() == list(range(quarters))


def test_a_local_day_in_the_other_hemisphere_with_half_an_hour_of_saving(csv_folder):
    times = local_quarters("2024-04-07", "Australia/Lord_Howe")
    put_on_clock(csv_folder, times, parquet=False)
    assert len(load_dataset(csv_folder).times) == 98


def test_offsets_that_no_single_zone_has_are_mixed(csv_folder):
    lines = (csv_folder / "power.csv").read_text().splitlines()
    lines[6:] = [shifted(line) for line in lines[6:]]
    (csv_folder / "power.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"row 6 \(2024-01-01T02:15:00\+01:00\): mixed time zones"):
        load_dataset(csv_folder)


def shifted(line: str) -> str:
    """Write the same instant in a clock one hour ahead."""
    text, rest = line.split(",", 1)
    return f"{pd.Timestamp(text).tz_convert('+01:00').isoformat()},{rest}"


def test_z_and_a_zero_offset_are_one_zone(csv_folder):
    text = (csv_folder / "power.csv").read_text()
    (csv_folder / "power.csv").write_text(text.replace("+00:00", "Z", 5))
    assert len(load_dataset(csv_folder).times) == 12
