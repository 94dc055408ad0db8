from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.cone import Add, Cone, ConeBuilder, Constant, Limit, Op, Port, Read, Round, Select, run_cone
from flow.engines.emit import cone_module
from flow.engines.module import Binary, Instance, Module, Rom, Wire
from flow.engines.network import connect
from flow.engines.pipeline import fewest_registers_along, place
from flow.engines.registers import held_bits
from flow.engines.tables import table_modules
from flow.engines.widths import signed_width
from flow.fixed import FixedType, Overflow, Rounding
from flow.rtl.printer import print_module
from tests.benches import Case, failures, lint, words
from tests.cones import DELAYS, random_cone, random_tensors

BATCH = 150


def case_of(cone: Cone, kinds: tuple[FixedType, ...], out: FixedType, depth: int, seed: int) -> Case:
    placement = place(connect((cone,), () if depth == 0 else (cone.name,)), (depth,), DELAYS)
    module = cone_module(placement.cones[0], kinds, out, ("a label",))
    tensors = random_tensors(np.random.default_rng(seed), cone.inputs, BATCH)
    columns = tuple(words(t, kind) for t, kind in zip(tensors, kinds, strict=True))
    tables = table_modules(placement.cones[0])
    return Case(module, depth, columns, words(run_cone(cone, tensors), out), tables)


def sources(case: Case) -> list[str]:
    """Return the names of a case's files."""
    return [f"{name}.sv" for name in (*case.hand_written, *(t.name for t in case.tables), case.module.name)]


def every_mode() -> list[Case]:
    """Return, for one signed and one unsigned input, all roundings and all limits, from widths 1 to 70."""
    cases = []
    for signed in (True, False):
        for width in (1, 2, 7, 70):
            kind = FixedType(width, width, signed)
            ops: list[Op] = [Read(0, 0)]
            ranges = [(kind.lo, kind.hi)]
            for bits, mode in ((b, m) for b in (1, 2, 3, width + 1) for m in Rounding):
                ops.append(Round(0, bits, mode))
                ranges.append((-(1 << 69), (1 << 70) - 1))
            for w, s, mode in ((w, s, m) for w in (1, 2, 6, 7, 8) for s in (True, False) for m in Overflow):
                target = Limit(0, w, s, mode)
                ops.append(target)
                ranges.append((target.type.lo, target.type.hi))
            name = f"modes_{width}_{'s' if signed else 'u'}"
            cone = Cone(name, (Port("x", 1, kind.lo, kind.hi),), tuple(ops), tuple(ranges), tuple(range(len(ops))))
            cases.append(case_of(cone, (kind,), FixedType(72, 72), 0, width))
    return cases


def drawn(seeds: range) -> list[Case]:
    cases = []
    for seed in seeds:
        size = 10 + 4 * (seed % 14)
        cone, kinds, out = random_cone(seed, name=f"c{seed}", size=size, widest=(24, 24, 100)[seed % 3])
        cases.append(case_of(cone, kinds, out, seed % 5, seed))
    return cases


def in_blocks(seeds: range) -> list[Case]:
    """Return random cones with products and tables in blocks, as shallow as these allow and up to two deeper."""
    cases = []
    for seed in seeds:
        cone, kinds, out = random_cone(seed, name=f"blocks{seed}", size=20 + seed % 14, widest=36, blocks=True)
        depth = fewest_registers_along(connect((cone,), (cone.name,)), DELAYS) + seed % 3
        cases.append(case_of(cone, kinds, out, depth, seed))
    return cases


def built(seeds: range) -> list[Case]:
    """Return cones of products, quotients, extremes and tables, as a builder makes them."""
    cases = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kinds = tuple(FixedType(w := int(rng.integers(2, 9)), w, bool(rng.integers(2))) for _ in range(2))
        ports = tuple(Port(f"e{k}", 2, kind.lo, kind.hi) for k, kind in enumerate(kinds))
        builder = ConeBuilder(f"built{seed}", ports)
        a, b, c, d = (builder.read(p, k) for p in range(2) for k in range(2))
        product, square = builder.multiply(a, c), builder.multiply(b, b)
        most, least = builder.maximum(product, builder.multiply(b, d)), builder.minimum(a, b)
        lo, hi = builder.range(most)
        index = builder.limit(builder.add(most, builder.constant(-lo)), FixedType(10, 10, signed=False))
        smooth = tuple(int(40000 / (k + 3)) - 900 for k in range(min(hi - lo + 1, 1024)))
        random = tuple(int(v) for v in rng.integers(-5, 200, 300))
        bounded = builder.limit(square, FixedType(8, 8, signed=False))
        values = (
            product,
            square,
            least,
            builder.divide(most, int(rng.integers(3, 60)), towards_zero=bool(seed % 2)),
            builder.add(builder.lookup(index, smooth), builder.lookup(bounded, random), shift_b=3),
            builder.lookup(bounded, tuple(v << 2 for v in random)),
        )
        cone = builder.finish(values)
        bits = signed_width(*cone.output_range)
        cases.append(case_of(cone, kinds, FixedType(bits, bits), seed % 4, seed))
    return cases


def broken(case: Case) -> Case:
    """Return the case with the adders of its module turned into subtractors."""
    items = list(case.module.items)
    for k, item in enumerate(items):
        if isinstance(item, Wire) and isinstance(item.value, Binary) and item.value.operator == "+":
            items[k] = Wire(item.signal, replace(item.value, operator="-"))
    return replace(case, module=replace(case.module, name=f"{case.module.name}_broken", items=tuple(items)))


@pytest.mark.eda
def test_hardware_computes_what_the_cone_computes(tmp_path: Path) -> None:
    blocks = in_blocks(range(24))
    placed = {item.module[:8] for case in blocks for item in case.module.items if isinstance(item, Instance)}
    assert {"flow_pro", "flow_rom", "flow_tab"} <= placed
    cases = every_mode() + drawn(range(14)) + built(range(8)) + blocks
    cone, kinds, out = random_cone(24, name="faulty", size=30)
    right = case_of(cone, kinds, out, 2, 24)
    wrong = [
        broken(right),
        replace(right, module=replace(right.module, name="flow_cone_late"), depth=3),
        replace(right, module=replace(right.module, name="flow_cone_early"), depth=1),
    ]
    found = failures(tmp_path, [*cases, right, *wrong])
    assert found[: len(cases) + 1] == [0] * (len(cases) + 1)
    assert all(found[len(cases) + 1 :]), "a fault in the hardware was not seen"
    for case in cases:
        assert not lint(tmp_path, [tmp_path / name for name in sources(case)], case.module.name)
    done = subprocess.run(
        [sys.executable, "-c", _YOSYS, *dict.fromkeys(name for case in cases for name in sources(case))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Warning" not in done.stdout, [line for line in done.stdout.splitlines() if "Warning" in line]


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 1400, 100))
def test_many_random_cones(tmp_path: Path, first: int) -> None:
    cases = drawn(range(first, first + 80)) + built(range(first, first + 20)) + in_blocks(range(first, first + 40))
    assert failures(tmp_path, cases) == [0] * 140
    for case in cases:
        assert not lint(tmp_path, [tmp_path / name for name in sources(case)], case.module.name)


_YOSYS = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
ys.run_pass("read_verilog -sv " + " ".join(sys.argv[1:]), design)
ys.run_pass("hierarchy -check", design)
ys.run_pass("proc", design)
ys.run_pass("check -assert", design)
"""


def module_of(cone: Cone, kinds: tuple[FixedType, ...], out: FixedType, depth: int) -> Module:
    placement = place(connect((cone,), (cone.name,) if depth else ()), (depth,), DELAYS)
    return cone_module(placement.cones[0], kinds, out)


def rectifier() -> Cone:
    port = Port("x", 1, -128, 127)
    ops: tuple[Op, ...] = (Read(0, 0), Limit(0, 4, False, Overflow.SAT), Constant(0), Select(0, 1, 2))
    return Cone("relu", (port,), ops, ((-128, 127), (0, 15), (0, 0), (0, 15)), (3,))


def test_a_rectifier_that_saturates_unsigned_needs_no_select() -> None:
    text = print_module(module_of(rectifier(), (FixedType(8, 8),), FixedType(4, 4, False), 0))
    assert text.count("assign v") == 1
    assert "clk_i" not in text


def test_low_bits_pass_an_adder_by() -> None:
    ports = (Port("x", 2, 0, 255),)
    cone = Cone("sum", ports, (Read(0, 0), Read(0, 1), Add(0, 1, 0, 3)), ((0, 255), (0, 255), (0, 2295)), (2,))
    text = print_module(module_of(cone, (FixedType(8, 8, False),), FixedType(12, 12, False), 0))
    assert "logic [8:0] v2;" in text
    assert "{v2, x0[2:0]}" in text


def test_dead_bits_are_not_registered() -> None:
    ports = (Port("x", 2, 0, 255),)
    ops: tuple[Op, ...] = (Read(0, 0), Read(0, 1), Add(0, 1), Round(2, 5, Rounding.TRN))
    cone = Cone("sum", ports, ops, ((0, 255), (0, 255), (0, 510), (0, 15)), (3,))
    placement = place(connect((cone,), ("sum",)), (2,), DELAYS)
    assert sum(h.mask.bit_count() for h in held_bits(placement.cones[0])) == 2 * 4


def test_a_table_holds_only_the_columns_that_are_read() -> None:
    builder = ConeBuilder("table", (Port("x", 1, 0, 7),))
    # bits 0 and 1 are equal, bit 2 is constant, bit 3 differs from them, bits 4 and 5 are read by nobody
    entries = tuple(3 * (k % 3 == 1) + 4 + 8 * (k % 5 == 2) + 16 * (k % 4 == 3) + 32 * (k == 0) for k in range(8))
    whole, part = builder.lookup(builder.read(0, 0), entries), FixedType(4, 4, signed=False)
    cone = builder.finish((builder.limit(whole, part),))
    placement = place(connect((cone,), ()), (0,), DELAYS)
    (table,) = table_modules(placement.cones[0])
    (rom,) = (item for item in table.items if isinstance(item, Rom))
    assert rom.memory.width == 2
    assert rom.memory.words == tuple((e & 1) | (e >> 2 & 2) for e in entries)
    text = print_module(cone_module(placement.cones[0], (FixedType(3, 3, False),), part))
    assert "{v1[1], 1'h1, {2{v1[0]}}}" in text


def test_labels_cannot_leave_the_comment() -> None:
    placement = place(connect((rectifier(),), ()), (0,), DELAYS)
    label = 'a\nendmodule */ `include "x" \\ \u2028 verilator lint_off'
    module = cone_module(placement.cones[0], (FixedType(8, 8),), FixedType(4, 4, False), (label,))
    lines = print_module(module).splitlines()
    assert re.search(r"^// Layers: a\?endmodule", "\n".join(lines), re.MULTILINE)
    assert lines.count("endmodule") == 1
    assert not any("`" in line or "\\" in line for line in lines)


def test_a_big_cone_is_printed_quickly() -> None:
    leaves, adders = 1000, 8000
    ops: list[Op] = [Read(0, k) for k in range(leaves)]
    ranges = [(-128, 127)] * leaves
    rng = np.random.default_rng(1)
    for _ in range(adders):
        a, b = (int(v) for v in rng.integers(0, min(len(ops), leaves * 2), 2))
        ops.append(Add(a, b))
        ranges.append((ranges[a][0] + ranges[b][0], ranges[a][1] + ranges[b][1]))
    cone = Cone("big", (Port("x", leaves, -128, 127),), tuple(ops), tuple(ranges), tuple(range(leaves, len(ops))))
    module = module_of(cone, (FixedType(8, 8),), FixedType(16, 16), 1)
    assert print_module(module).count("assign v") == adders
