"""Products in DSP blocks and tables in block RAM: what takes them, and what Yosys makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.area import area
from flow.engines.blocks import LEAST_WORDS, Blocks, blocks_of, stores
from flow.engines.cone import Cone, ConeBuilder, Lookup, Multiply, Port, run_cone
from flow.engines.emit import cone_module
from flow.engines.engine import Resources
from flow.engines.module import Rom
from flow.engines.multiplier import dsp_fits, dsp_shapes
from flow.engines.network import connect
from flow.engines.pipeline import PlacedCone, fewest_registers_along, place
from flow.engines.tables import table_modules
from flow.engines.unrolled import Unrolled
from flow.fixed import FixedType
from flow.rtl.printer import print_memory, print_module
from flow.rtl.top import hand_written_text
from flow.synth.result import InstanceResources
from flow.synth.yosys import synthesize
from tests.cones import DELAYS
from tests.synth.designs import one_module, write_run

PARTS = (
    "LFE5U-25F",
    pytest.param("iCE40UP5K", marks=pytest.mark.campaign),
    pytest.param("xc7a100t", marks=pytest.mark.campaign),
    pytest.param("xcvu13p", marks=pytest.mark.campaign),
    pytest.param("GW2AR-18", marks=pytest.mark.campaign),
)
WIDE = FixedType(32, 32)


def random_table(words: int, bits: int) -> tuple[int, ...]:
    return tuple(int(v) for v in np.random.default_rng(words + bits).integers(0, 1 << bits, words))


def product_cone(part: Part, a: tuple[int, bool], b: tuple[int, bool]) -> Cone:
    """Return the product of low bits of two values; a, b: bits and sign."""
    builder = ConeBuilder(
        f"p{a[0]}_{int(a[1])}_{b[0]}_{int(b[1])}", (Port("x", 2, WIDE.lo, WIDE.hi),), Blocks(dsp_shapes(part))
    )
    low = [builder.limit(builder.read(0, k), FixedType(w, w, s)) for k, (w, s) in enumerate((a, b))]
    return builder.finish((builder.multiply(*low),))


def table_cone(words: int, bits: int) -> Cone:
    builder = ConeBuilder(f"t{words}_{bits}", (Port("x", 2, WIDE.lo, WIDE.hi),), Blocks(tables=True))
    address = builder.limit(builder.read(0, 0), FixedType(w := (words - 1).bit_length(), w, signed=False))
    address = builder.minimum(address, builder.constant(words - 1))
    return builder.finish((builder.lookup(address, random_table(words, bits)),))


def synthesized(folder: Path, part: Part, cones: list[Cone]) -> list[tuple[PlacedCone, Resources]]:
    """Return the cones with as few registers as can be, and what Yosys found for each."""
    files: dict[str, str] = {"rtl/flow_product.sv": hand_written_text("flow_product")}
    body, at = "", 0
    placed: list[PlacedCone] = []
    for cone in cones:
        network = connect((cone,), (cone.name,))
        placed += place(network, (fewest_registers_along(network, DELAYS),), DELAYS).cones
        kind = FixedType(w := cone.width(cone.outputs[0]), w)
        module = cone_module(placed[-1], (WIDE,), kind)
        for found in (module, *table_modules(placed[-1])):
            files[f"rtl/{found.name}.sv"] = print_module(found)
            files |= {f"rtl/{i.memory.name}.mem": print_memory(i.memory) for i in found.items if isinstance(i, Rom)}
        out = f"data_o[{at} +: {kind.width}]"
        body += f"  {module.name} u_{cone.name} (.clk_i(clk_i), .data_i(data_i), .data_o({out}));\n"
        at += kind.width
    result = synthesize(write_run(folder, one_module(body, in_bits=2 * WIDE.width, out_bits=at) | files), part)
    rows: dict[str, InstanceResources] = {row.instance: row for row in result.instances}
    return [(cone, rows[f"u_{cone.name}"].resources) for cone in placed]


@pytest.mark.eda
@pytest.mark.parametrize("name", PARTS)
def test_blocks_and_flip_flops_are_those_of_yosys(tmp_path: Path, name: str) -> None:
    part = find_part(name)
    (*_, shape) = dsp_shapes(part)
    most = (shape.wide, True), (shape.narrow, True)
    widths = [most, ((shape.wide - 1, False), (shape.narrow - 1, False)), ((8, False), (8, True)), ((3, True),) * 2]
    wide = [((shape.wide, False), (shape.narrow, True)), ((shape.wide, True), (shape.narrow, False))]
    products = [product_cone(part, a, b) for a, b in widths + wide]
    tables = [table_cone(*size) for size in ((256, 8), (1024, 18), (700, 11), (4096, 10))]
    found = synthesized(tmp_path, part, products + tables)
    for cone, real in found:
        predicted = area(cone, part.family)
        assert (predicted.dsp, predicted.half_dsp) == (real.dsp, real.half_dsp), cone.name
        assert (predicted.bram, predicted.half_bram) == (real.bram, real.half_bram), cone.name
        assert predicted.ff == real.ff, cone.name
        if cone.name in {"t256_8", "t1024_18", "t4096_10"}:  # nothing but the blocks and what chooses among them
            assert predicted.lut == real.lut, cone.name
    blocks = [real.dsp > 0 for _, real in found[: len(products)]]
    fits = [dsp_fits(a[0] + (not a[1]), b[0] + (not b[1]), part) for a, b in widths + wide]
    assert blocks[: len(widths)] == fits[: len(widths)]
    assert not any(fits[len(widths) :])
    assert all(real.bram or real.half_bram for _, real in found[len(products) :])


@pytest.mark.parametrize(("a", "b"), [((18, True), (18, True)), ((17, False), (5, True)), ((2, True), (1, False))])
def test_a_product_that_fits_stays_one(a: tuple[int, bool], b: tuple[int, bool]) -> None:
    part = find_part("LFE5U-25F")
    cone = product_cone(part, a, b)
    assert sum(isinstance(op, Multiply) for op in cone.ops) == 1
    raw = np.random.default_rng(1).integers(WIDE.lo, WIDE.hi, (400, 2))
    raw[:4] = ((WIDE.lo, WIDE.lo), (WIDE.hi, WIDE.hi), (1 << 17, 1 << 17), (1 << 16, 1 << 4))
    low = [_low(raw[:, k], *size) for k, size in enumerate((a, b))]
    assert np.array_equal(run_cone(cone, (raw,))[:, 0].astype(object), low[0] * low[1])
    lo, hi = cone.output_range
    assert all(lo <= v <= hi for v in low[0] * low[1])


def _low(raw: np.typing.NDArray[np.int64], width: int, signed: bool) -> np.typing.NDArray[np.object_]:
    low: np.typing.NDArray[np.object_] = raw.astype(object) % (1 << width)
    return np.where(low >= 1 << (width - 1), low - (1 << width), low) if signed else low


def test_wide_products_constants_and_short_tables_stay_in_luts() -> None:
    part = find_part("LFE5U-25F")
    assert not any(isinstance(op, Multiply) for op in product_cone(part, (19, True), (18, True)).ops)
    builder = ConeBuilder("c", (Port("x", 1, 0, LEAST_WORDS - 1),), Blocks(dsp_shapes(part), tables=True))
    x = builder.read(0, 0)
    found = (
        builder.multiply(x, builder.constant(77)),
        builder.lookup(x, random_table(LEAST_WORDS, 9)),
        builder.lookup(builder.minimum(x, builder.constant(LEAST_WORDS - 2)), random_table(LEAST_WORDS, 9)),
    )
    cone = builder.finish(found)
    assert not any(isinstance(op, Multiply) for op in cone.ops)
    assert [(len(op.values), op.block) for op in cone.ops if isinstance(op, Lookup)] == [
        (LEAST_WORDS, True),
        (LEAST_WORDS - 1, False),
    ]


def test_what_a_part_offers() -> None:
    choice = Unrolled(("n",), 3)

    def offered(name: str) -> list[tuple[str, str]]:
        part = find_part(name)
        return [(c.products, c.tables) for c in stores(choice, part, delays_of(part))]

    assert offered("LFE5U-25F") == [("lut", "lut"), ("dsp", "lut"), ("lut", "bram"), ("dsp", "bram")]
    assert offered("iCE40HX8K") == [("lut", "lut"), ("lut", "bram")]
    dsp, bram = Unrolled(("n",), 3, products="dsp"), Unrolled(("n",), 3, tables="bram")
    for wanting, part in ((dsp, find_part("iCE40HX8K")), (dsp, None), (bram, None)):
        with pytest.raises(ValueError, match="'n' wants"):
            blocks_of(wanting, part)
