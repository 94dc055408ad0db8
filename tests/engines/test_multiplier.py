from __future__ import annotations

from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.multiplier import (
    dsp_fits,
    dsp_halves,
    packs_pair,
    pair_width,
    product_flip_flops,
)
from flow.synth.yosys import synthesize
from tests.synth.designs import products_design, write_run

# both sides of the limits of every family
WIDTHS = {
    "xcvu13p": [(2, 6), (2, 7), (3, 5), (3, 6), (9, 9), (18, 18), (18, 27), (2, 27), (8, 16)],
    "xc7a100t": [(2, 6), (2, 7), (3, 5), (3, 6), (9, 9), (18, 18), (25, 18), (2, 25), (8, 16)],
    "LFE5U-25F": [(2, 2), (4, 4), (9, 9), (10, 9), (18, 18), (2, 18), (18, 3), (8, 16)],
    "iCE40UP5K": [(2, 8), (2, 9), (5, 5), (5, 6), (9, 9), (16, 16), (16, 2), (8, 16)],
    "GW2AR-18": [(3, 9), (4, 4), (9, 9), (9, 10), (10, 4), (18, 4), (18, 18), (8, 16)],
}
CAMPAIGN = [pytest.param(name, marks=pytest.mark.campaign) for name in WIDTHS if name != "GW2AR-18"]


@pytest.mark.eda
@pytest.mark.parametrize("registers", [0, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("name", ["GW2AR-18", *CAMPAIGN])
def test_dsp_blocks_and_flip_flops_are_what_yosys_maps(tmp_path: Path, name: str, registers: int) -> None:
    part = find_part(name)
    folder = write_run(tmp_path / "run", products_design(WIDTHS[name], registers=registers))
    result = synthesize(folder, part)
    rows = {row.module: row.resources for row in result.instances}
    halves = 0
    for a, b in WIDTHS[name]:
        found = rows[f"product_{a}_{b}"]
        fits = dsp_fits(a, b, part)
        assert (found.dsp, found.lut > 0) == ((1, False) if fits else (0, True)), (a, b)
        assert found.ff == product_flip_flops(a + b, registers, part, dsp=fits), (a, b)
        halves += dsp_halves(a, b, part) if fits else 0
    assert result.total.dsp == -(-halves // 2)


def test_parts_without_multipliers_have_none() -> None:
    for name in ("iCE40HX8K", "GW5A-25"):
        assert not dsp_fits(9, 9, find_part(name))
        with pytest.raises(ValueError, match="9 x 9 bit product does not become one DSP block"):
            dsp_halves(9, 9, find_part(name))


@pytest.mark.parametrize(("x", "w"), [(2, 2), (3, 4), (4, 3)])
def test_a_packed_pair_gives_both_products(x: int, w: int) -> None:
    s = x + w
    signed = lambda value, bits: (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)  # noqa: E731
    for w1 in range(-(1 << w - 1), 1 << w - 1):
        for w2 in range(-(1 << w - 1), 1 << w - 1):
            packed = (w1 << s) + w2
            assert packed == signed(packed, pair_width(x, w))
            for v in range(-(1 << x - 1), 1 << x - 1):
                low = signed(packed * v, s)
                assert (low, (packed * v - low) >> s) == (w2 * v, w1 * v)
    assert (-(1 << w - 1) << s) - 1 != signed((-(1 << w - 1) << s) - 1, pair_width(x, w) - 1)


def test_pairs_fit_where_both_operands_do() -> None:
    assert packs_pair(8, 8, find_part("xcvu13p"))  # 25 x 8
    assert packs_pair(8, 9, find_part("xcvu13p"))  # 27 x 8
    assert not packs_pair(9, 9, find_part("xcvu13p"))  # 28 x 9
    assert packs_pair(8, 8, find_part("xc7a100t"), signed=False)  # 25 x 9
    assert not packs_pair(1, 2, find_part("xcvu13p"), signed=False)  # 6 x 2
    assert not packs_pair(2, 2, find_part("xcvu13p"))  # 7 x 2, of which 8 bits are read
    assert packs_pair(2, 3, find_part("xcvu13p"))
    assert packs_pair(5, 6, find_part("LFE5U-25F"))  # 18 x 5
    assert not packs_pair(6, 6, find_part("LFE5U-25F"))
    assert not packs_pair(4, 4, find_part("iCE40HX8K"))
