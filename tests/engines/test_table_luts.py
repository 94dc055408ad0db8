"""What Yosys takes for constant tables and products of cones, against the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.area import area
from flow.engines.cone import Cone, ConeBuilder, Port
from flow.engines.emit import cone_module
from flow.engines.module import Rom
from flow.engines.network import connect
from flow.engines.pipeline import PlacedCone, place
from flow.engines.table_luts import shared_blocks
from flow.engines.tables import table_modules
from flow.engines.widths import signed_width
from flow.fixed import FixedType
from flow.rtl.printer import print_memory, print_module
from flow.synth.yosys import synthesize
from tests.cones import DELAYS
from tests.synth.designs import one_module, write_run

PARTS = (
    "LFE5U-25F",
    pytest.param("xcvu13p", marks=pytest.mark.campaign),
    pytest.param("iCE40UP5K", marks=pytest.mark.campaign),
    pytest.param("GW2AR-18", marks=pytest.mark.campaign),
)
TABLE_ERROR = {"ecp5": 0.2, "xcup": 0.3, "ice40": 0.2, "gowin": 0.35}
PRODUCT_ERROR = {"ecp5": 0.1, "xcup": 0.15, "ice40": 0.1, "gowin": 0.1}


def sampled(function: Callable[[float], float], words: int, lo: float, hi: float, fraction: int) -> tuple[int, ...]:
    """Return a function at `words` places from lo on, in fixed point."""
    return tuple(math.floor(function(lo + (hi - lo) * k / words) * 2**fraction) for k in range(words))


TABLES = {  # none of them is among those that the model was fitted to
    "softsign_1024": sampled(lambda x: x / (1 + abs(x)), 1024, -8, 8, 10),
    "elu_1024": sampled(lambda x: math.exp(x) - 1, 1024, -8, 0, 15),
    "rsqrt_512": sampled(lambda x: 1 / math.sqrt(x + 1 / 32), 512, 0, 16, 8),
    "gelu_1024": sampled(lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))), 1024, -4, 4, 10),
    "sine_1024": sampled(math.sin, 1024, 0, math.pi / 2, 16),
    "exp_2048": sampled(lambda x: math.exp(-x), 2048, 0, 8, 16),
    "sigmoid_512": sampled(lambda x: 1 / (1 + math.exp(-x)), 512, -8, 8, 9),
    "rsqrt_4096": sampled(lambda x: 1 / math.sqrt(x + 1 / 256), 4096, 0, 16, 12),
}


def table_cone(name: str) -> tuple[Cone, FixedType]:
    values = TABLES[name]
    kind = FixedType(bits := (len(values) - 1).bit_length(), bits, signed=False)
    builder = ConeBuilder(name, (Port("x", 1, kind.lo, kind.hi),))
    return builder.finish((builder.lookup(builder.read(0, 0), values),)), kind


def product_cone(a: int, b: int, *, signed: bool) -> tuple[Cone, FixedType]:
    """Return the product of the low bits of two values of 16 bits; a square where b is 0."""
    kind = FixedType(16, 16)
    builder = ConeBuilder(f"product_{a}_{b}_{int(signed)}", (Port("x", 2, kind.lo, kind.hi),))
    values = [builder.limit(builder.read(0, k), FixedType(w or a, w or a, signed)) for k, w in enumerate((a, b))]
    return builder.finish((builder.multiply(values[0], values[1 if b else 0]),)), kind


def synthesized(folder: Path, part: str, cones: list[tuple[Cone, FixedType]], depth: int) -> list[tuple[int, int]]:
    """Return, per cone, the LUTs that were predicted and those that Yosys found."""
    files: dict[str, str] = {}
    body, at = "", 0
    placed: list[PlacedCone] = []
    for cone, kind in cones:
        placed += place(connect((cone,), (cone.name,) if depth else ()), (depth,), DELAYS).cones
        width = signed_width(*cone.output_range)
        module = cone_module(placed[-1], (kind,), FixedType(width, width))
        for found in (module, *table_modules(placed[-1])):
            files[f"rtl/{found.name}.sv"] = print_module(found)
            files |= {f"rtl/{i.memory.name}.mem": print_memory(i.memory) for i in found.items if isinstance(i, Rom)}
        clock = ".clk_i(clk_i), " if depth else ""
        bits = cone.inputs[0].size * kind.width
        body += (
            f"  {module.name} u_{cone.name} ({clock}.data_i(data_i[{bits - 1}:0]), .data_o(data_o[{at} +: {width}]));\n"
        )
        at += width
    result = synthesize(write_run(folder, one_module(body, in_bits=64, out_bits=at) | files), find_part(part))
    assert (result.total.bram, result.total.dsp) == (0, 0)
    rows = {row.instance: row.resources.lut for row in result.instances}
    return [(area(cone, result.family).lut, rows[f"u_{cone.name}"]) for cone in placed]


@pytest.mark.eda
@pytest.mark.parametrize("part", PARTS)
def test_luts_of_smooth_tables(tmp_path: Path, part: str) -> None:
    found = synthesized(tmp_path / "run", part, [table_cone(name) for name in TABLES], 0)
    for name, (predicted, real) in zip(TABLES, found, strict=True):
        assert predicted == pytest.approx(real, rel=TABLE_ERROR[find_part(part).family]), (name, found)
    assert sum(p for p, _ in found) == pytest.approx(sum(r for _, r in found), rel=0.1), found


@pytest.mark.eda
@pytest.mark.parametrize("part", PARTS)
def test_luts_of_products(tmp_path: Path, part: str) -> None:
    cones = [product_cone(a, b, signed=s) for a, b, s in ((8, 8, True), (12, 12, True), (16, 9, False), (12, 0, False))]
    for predicted, real in (found := synthesized(tmp_path / "run", part, cones, 1)):
        assert predicted == pytest.approx(real, rel=PRODUCT_ERROR[find_part(part).family]), found


def test_equal_inverse_and_constant_blocks_count_once() -> None:
    assert shared_blocks((0b0110_1001_0110_1001,), 16) == (0, 0, 1, 1, 1)  # a parity: its halves are inverses
    assert shared_blocks((0b1010_1010_1010_1010, 0b1111_0000_1111_0000), 16) == (0, 0, 0, 0, 0)  # address bits
    assert shared_blocks((0b1000_0000, 0b0111_1111), 8) == (0, 0, 1, 1)  # a function and its inverse
    assert shared_blocks((0b0001_0111,), 5) == (0, 0, 1, 1)  # words 5 to 7 may be anything: like word 4
