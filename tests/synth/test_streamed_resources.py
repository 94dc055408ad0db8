"""What streamed engines, FIFOs and guards take is what was predicted, on every family.

Cases are those of benchmarks/streamed_resources.py, which compares many more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.streamed_resources import LARGE, compare
from flow.device.parts import find_part

pytestmark = pytest.mark.eda
CAMPAIGN = pytest.mark.campaign
NEAR = 0.12
"""Relative error of the LUTs of an engine that is not small."""


@pytest.mark.parametrize(
    ("name", "number", "holds", "merged"),
    [
        # beats that wait in LUT RAM, a saturating merge
        ("LFE5U-25F", 15, ("lutram", "fifo", "beat"), 0),
        # a folded beat with weights in block RAM, a register FIFO, a table
        ("xc7a100t", 6, ("folded", "fifo", "beat"), 0),
        # rows in block RAM; registers that hold the same bits are one
        ("GW2AR-18", 5, ("bram", "sum of"), 4),
        ("iCE40UP5K", 5, ("bram", "sum of"), 4),
        pytest.param("xcvu13p", 15, ("lutram", "fifo"), 0, marks=CAMPAIGN),
    ],
)
def test_streamed_engines_take_what_was_predicted(
    name: str, number: int, holds: tuple[str, ...], merged: int, tmp_path: Path
) -> None:
    rows = compare(number, find_part(name), tmp_path)
    assert all(any(word in row.what for row in rows) for word in holds)
    for row in rows:
        blocks = (row.predicted.dsp, row.predicted.bram, row.predicted.half_bram)
        assert blocks == (row.found.dsp, row.found.bram, row.found.half_bram), row
        assert 0 <= row.predicted.ff - row.found.ff <= merged, row
        if row.found.lut >= LARGE and row.what.startswith("streamed"):
            assert abs(row.predicted.lut / row.found.lut - 1) < NEAR, row
