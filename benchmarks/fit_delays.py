"""Fit the delay tables of the open families: route designs of known structure, solve for the delays.

    python benchmarks/fit_delays.py [PART] [--blocks] [--out FOLDER]

Each design holds one structure many times between registers (adder trees of a depth and width, LUT levels), so its
slowest path is known: register_ns + levels · level_ns + adders · carry_ns + bits · carry_bit_ns, where bits are summed
over the adders of the path. Non-negative least squares on relative errors give the delays; designs that mix the
structures and were not used give the factors low and high: routed over predicted, least and largest, rounded outwards.
With --blocks the four delays are taken from the part's table, and those of blocks are solved for: a path through a DSP
multiplier takes register_ns + dsp_ns, one from a block ROM takes bram_ns in place of register_ns.
Prints a table and the figures for flow/device/delays.toml. Routed designs are kept in FOLDER and not routed again.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.fixed import FixedType
from flow.rtl.signature import FORMAT, HashedFile, Signature, TensorPort, signature_to_json
from flow.synth.nextpnr import route
from flow.synth.result import load_routing, load_synthesis
from flow.synth.yosys import synthesize

OPERANDS = 48
WORDS = 512  # of a block ROM, as wide as its port
NAMES = ("register_ns", "level_ns", "carry_ns", "carry_bit_ns", "dsp_ns", "bram_ns")
DSP, BRAM = NAMES.index("dsp_ns"), NAMES.index("bram_ns")
Path6 = tuple[int, int, int, int, int, int]  # how many of each a path has, in the order of NAMES


@dataclass(frozen=True, slots=True)
class Structure:
    """Describe a design: `lanes` copies of two adder trees of `depth` levels on operands of `width` bits.

    relu: both trees end in a ReLU and are added. depth 0: `levels` levels of random 4-input functions on `lanes` bits.
    block: `lanes` block ROMs ("rom"), multipliers ("product"), both one after the other ("rom product") or multipliers
    before an adder ("product sum"), of `width` bits; `levels` LUT levels behind a ROM.
    """

    name: str
    depth: int
    width: int
    lanes: int
    levels: int = 0
    relu: bool = False
    block: str = ""


FITTED = (
    Structure("tree 1×6", 1, 6, 40),
    Structure("tree 2×6", 2, 6, 16),
    Structure("tree 2×12", 2, 12, 10),
    Structure("tree 3×6", 3, 6, 8),
    Structure("tree 4×6", 4, 6, 5),
    Structure("tree 6×5", 6, 5, 2),
    Structure("levels 3", 0, 0, 80, 3),
    Structure("levels 8", 0, 0, 60, 8),
)
HELD_OUT = (
    Structure("relu 1×6", 1, 6, 20, relu=True),
    Structure("relu 2×8", 2, 8, 8, relu=True),
    Structure("relu 4×5", 4, 5, 3, relu=True),
    Structure("tree 2×9, large", 2, 9, 60),
    Structure("tree 3×8, large", 3, 8, 36),
)


BLOCKS = (
    Structure("product 16, 2", 0, 16, 2, block="product"),
    Structure("product 16, 7", 0, 16, 7, block="product"),
    Structure("product 18, 8", 0, 18, 8, block="product"),
    Structure("product 18, 20", 0, 18, 20, block="product"),
    Structure("rom 16, 2", 0, 16, 2, block="rom"),
    Structure("rom 16, 10", 0, 16, 10, block="rom"),
    Structure("rom 16, 24", 0, 16, 24, block="rom"),
    Structure("rom 16, 8, levels 3", 0, 16, 8, 3, block="rom"),
)
BLOCKS_HELD_OUT = (
    Structure("rom product 8, 6", 0, 8, 6, block="rom product"),
    Structure("rom product 16, 5", 0, 16, 5, block="rom product"),
    Structure("product sum 16, 4", 0, 16, 4, block="product sum"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Hold a structure's path, what was routed, and its size."""

    structure: Structure
    path: Path6
    period_ns: float
    lut: int
    dsp: int
    bram: int
    cells: tuple[str, ...]  # of the slowest path


class _Tree:
    """Print adder trees, and keep the levels, adders and adder bits of the longest path."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.lines: list[str] = []

    def grow(self, name: str, operands: list[tuple[str, int]]) -> tuple[str, int, int]:
        """Add up signed operands of (signal, width) in pairs; return signal, width, bits of the adders on a path."""
        bits = 0
        while len(operands) > 1:
            sums = [
                self.add(f"{name}_{len(operands)}_{k}", operands[k], operands[k + 1])
                for k in range(0, len(operands), 2)
            ]
            bits += max(width for _, width in sums)
            operands = sums
        return (*operands[0], bits)

    def add(self, name: str, a: tuple[str, int], b: tuple[str, int]) -> tuple[str, int]:
        """Print one adder or subtractor with a random shift."""
        shift = self.draw.randrange(3)
        width = max(a[1], b[1] + shift) + 1
        sign = self.draw.choice("+-")
        self.lines.append(
            f"  wire signed [{width - 1}:0] {name} = {width}'({a[0]}) {sign} ({width}'({b[0]}) <<< {shift});"
        )
        return name, width


def trees(structure: Structure, draw: random.Random) -> tuple[str, Path6]:
    """Print adder trees between registers; return the text and the path."""
    tree = _Tree(draw)
    width = structure.width
    operand_count = max(OPERANDS, 2**structure.depth)
    for k in range(operand_count):
        source = f"data_i[{width - 1}:0]" if k == 0 else f"x{k - 1}"
        tree.lines.append(f"  reg signed [{width - 1}:0] x{k}; always @(posedge clk_i) x{k} <= {source};")
    results: list[tuple[str, int]] = []
    path: Path6 = (1, 0, 0, 0, 0, 0)
    for lane in range(structure.lanes):
        halves = []
        for half in range(1 + structure.relu):
            operands = [(f"x{k}", width) for k in draw.sample(range(operand_count), 2**structure.depth)]
            name, wide, bits = tree.grow(f"t{lane}_{half}", operands)
            halves.append((name, wide))
            found = (1, 0, structure.depth, bits, 0, 0)
            if structure.relu:
                positive = f"r{lane}_{half}"
                tree.lines.append(f"  wire signed [{wide - 1}:0] {positive} = {name} < 0 ? {wide}'sd0 : {name};")
                halves[-1] = (positive, wide)
            path = max(path, found)
        if structure.relu:
            name, wide = tree.add(f"s{lane}", halves[0], halves[1])
            path = max(path, (1, 1, structure.depth + 1, bits + wide, 0, 0))
        tree.lines.append(f"  reg signed [{wide - 1}:0] y{lane}; always @(posedge clk_i) y{lane} <= {name};")
        results.append((f"y{lane}", wide))
    return "\n".join(tree.lines) + "\n" + _folded(results), path


def levels(structure: Structure, draw: random.Random) -> tuple[str, Path6]:
    """Print levels of random functions of four bits between registers; return the text and the path."""
    n = structure.lanes
    lines = [f"  reg [{n - 1}:0] v0; always @(posedge clk_i) v0 <= {{v0, data_i[0]}};"]
    for level in range(1, structure.levels + 1):
        lines.append(f"  wire [{n - 1}:0] v{level};")
        lines += [f"  assign v{level}[{k}] = {_any_function(f'v{level - 1}', n, draw)};" for k in range(n)]
    lines.append(f"  reg [{n - 1}:0] y0; always @(posedge clk_i) y0 <= v{structure.levels};")
    return "\n".join(lines) + "\n" + _folded([("y0", n)]), (1, structure.levels, 0, 0, 0, 0)


def _any_function(signal: str, width: int, draw: random.Random) -> str:
    """Return a random function of four bits of a signal."""
    bits = ", ".join(f"{signal}[{b}]" for b in draw.sample(range(width), 4))
    return f"16'd{draw.getrandbits(16)} >> {{{bits}}}"


def blocks(structure: Structure, draw: random.Random) -> tuple[str, Path6]:
    """Print block ROMs, filled from rom.hex, and multipliers between registers; return the text and the path."""
    width, wide = structure.width, 2 * structure.width
    address = (WORDS - 1).bit_length()
    lines, results = [], []
    for lane in range(structure.lanes):
        before = "data_i" if lane == 0 else f"x{lane - 1}"
        mask = f"{width}'d{draw.getrandbits(width)}"
        lines += [
            f"  reg signed [{width - 1}:0] x{lane};",
            f"  always @(posedge clk_i) x{lane} <= {{{before}, {before}[{width - 1}]}} ^ {mask};",
            f"  reg signed [{width - 1}:0] w{lane};",
        ]
        if "rom" in structure.block:
            mask = f"{address}'d{draw.getrandbits(address)}"
            lines += [
                f'  (* rom_style = "block" *) reg signed [{width - 1}:0] m{lane} [0:{WORDS - 1}];',
                f'  initial $readmemh("rom.hex", m{lane});',
                f"  reg [{address - 1}:0] a{lane};",
                f"  always @(posedge clk_i) a{lane} <= {{a{lane}, x{lane}[0]}} ^ {mask};",
                f"  always @(posedge clk_i) w{lane} <= m{lane}[a{lane}];",
            ]
        else:
            lines.append(f"  always @(posedge clk_i) w{lane} <= {{x{lane}[0], x{lane}}} ^ (w{lane} << 1);")
        result, size = f"w{lane}", width
        for level in range(structure.levels):
            before, result = result, f"v{lane}_{level}"
            lines.append(f"  wire signed [{width - 1}:0] {result};")
            lines += [f"  assign {result}[{k}] = {_any_function(before, width, draw)};" for k in range(width)]
        if "product" in structure.block:
            result, size = f"t{lane}", wide
            lines.append(f"  wire signed [{wide - 1}:0] {result} = x{lane} * w{lane};")
        if "sum" in structure.block:
            lines.append(f"  wire signed [{wide}:0] s{lane} = t{lane} + $signed({{x{lane}, w{lane}}});")
            result, size = f"s{lane}", wide + 1
        lines.append(f"  reg signed [{size - 1}:0] y{lane}; always @(posedge clk_i) y{lane} <= {result};")
        results.append((f"y{lane}", size))
    rom, product, added = (int(word in structure.block) for word in ("rom", "product", "sum"))
    path = (1 - rom, structure.levels, added, added * (wide + 1), product, rom)
    return "\n".join(lines) + "\n" + _folded(results), path


def _folded(results: list[tuple[str, int]]) -> str:
    """Print registered XOR levels that bring the results down to 16 bits, so that ports take little."""
    signal, width = "{" + ", ".join(name for name, _ in results) + "}", sum(wide for _, wide in results)
    lines = [f"  wire [{width - 1}:0] f0 = {signal};"]
    k = 0
    while width > 16:
        narrow = -(-width // 4)
        padded = f"{{{4 * narrow - width}'d0, f{k}}}" if 4 * narrow > width else f"f{k}"
        lines.append(f"  wire [{4 * narrow - 1}:0] p{k} = {padded};\n  reg [{narrow - 1}:0] f{k + 1};")
        terms = " ^ ".join(f"p{k}[{part * narrow} +: {narrow}]" for part in range(4))
        lines.append(f"  always @(posedge clk_i) f{k + 1} <= {terms};")
        width, k = narrow, k + 1
    lines.append(f"  assign data_o = 16'(f{k});")
    return "\n".join(lines) + "\n"


def measure(structure: Structure, part: Part, out: Path) -> Measured:
    """Synthesize and route a structure, unless its folder already holds the answer for the same text."""
    draw = random.Random(structure.name)
    build = blocks if structure.block else trees if structure.depth else levels
    body, path = build(structure, draw)
    width = max(structure.width, 1)
    text = (
        f"module fit_top (input clk_i, input rst_i, input valid_i, input [{width - 1}:0] data_i,\n"
        f"  output reg valid_o, output [15:0] data_o, output overrun_o);\n{body}"
        "  always @(posedge clk_i) valid_o <= valid_i & ~rst_i;\n  assign overrun_o = 1'b0;\nendmodule\n"
    )
    folder = out / part.name / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not (folder / "synth" / "route" / "result.json").is_file():
        (folder / "rtl").mkdir(parents=True, exist_ok=True)
        (folder / "rtl" / "fit_top.sv").write_text(text, encoding="utf-8")
        words = "\n".join(f"{draw.getrandbits(structure.width or 1):x}" for _ in range(WORDS))
        (folder / "rtl" / "rom.hex").write_text(f"{words}\n", encoding="utf-8")
        source = HashedFile("rtl/fit_top.sv", hashlib.sha256(text.encode()).hexdigest())
        ports = [TensorPort(name, name, (1,), FixedType(bits, bits), 0, 1) for name, bits in (("x", width), ("y", 16))]
        signature = Signature(FORMAT, "fit", "fit_top", 1, 1, (0,), (1,), (ports[0],), (ports[1],), (), (source,))
        (folder / "signature.json").write_bytes(signature_to_json(signature))
        synthesize(folder, part)
        route(folder, part, clock_ns=2.0)
    total = load_synthesis(folder).total
    routing = load_routing(folder)
    cells = tuple(name for _, _, name in routing.critical_path)
    return Measured(structure, path, routing.period_ns, total.lut, total.dsp, total.bram, cells)


def fit(designs: list[Measured]) -> NDArray[np.float64]:
    """Return the delays of NAMES, none for blocks, with the least sum of squared relative errors, none negative."""
    rows = np.array([d.path for d in designs], dtype=float) / np.array([[d.period_ns] for d in designs])
    active = list(range(DSP))
    while True:
        solution = np.zeros(len(NAMES))
        solution[active] = np.linalg.lstsq(rows[:, active], np.ones(len(designs)), rcond=None)[0]
        if (solution >= 0).all():
            return solution
        active.remove(int(np.argmin(solution)))


def fit_blocks(designs: list[Measured], part: Part) -> NDArray[np.float64]:
    """Return the delays of NAMES: of the part's table, and for blocks with the least squared relative errors."""
    known = delays_of(part)
    solution = np.array([known.register_ns, known.level_ns, known.carry_ns, known.carry_bit_ns, 0.0, 0.0])
    for kind in (DSP, BRAM):
        having = [d for d in designs if d.path[kind]]
        rows = [(d.path[kind] / d.period_ns, float(np.dot(d.path, solution)) / d.period_ns) for d in having]
        if rows:
            solution[kind] = sum(share * (1 - rest) for share, rest in rows) / sum(share**2 for share, _ in rows)
    return solution


def goes_through_its_blocks(design: Measured) -> bool:
    """Tell whether synthesis built the structure from the part's blocks, and the slowest path goes through them."""
    lanes = design.structure.lanes
    if design.path[DSP] and not (design.dsp >= lanes and any(re.search("MULT|_DSP", name) for name in design.cells)):
        return False
    return not design.path[BRAM] or (design.bram >= lanes and re.match(r"core\.m\d+\.", design.cells[0]) is not None)


def main() -> None:
    """Fit one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", type=find_part, nargs="?")
    parser.add_argument("--blocks", action="store_true", help="fit the delays of block RAM and multipliers")
    parser.add_argument("--out", type=Path, default=Path("hls_projects") / "fit_delays")
    options = parser.parse_args()
    if options.part is None:
        print("skipped: routing the designs of a part takes long; name one, for example LFE5U-25F")
        return
    found: dict[str, list[Measured]] = {"fitted": [], "held out": []}
    wanted = (BLOCKS, BLOCKS_HELD_OUT) if options.blocks else (FITTED, HELD_OUT)
    for use, structures in zip(found, wanted, strict=True):
        for structure in structures:
            if not fits(structure, options.part):
                continue
            design = measure(structure, options.part, options.out)
            if goes_through_its_blocks(design):
                found[use].append(design)
                print(f"routed {structure.name}: {design.period_ns:.2f} ns", flush=True)
            else:
                print(f"left out {structure.name}: {design.period_ns:.2f} ns, not through the blocks", flush=True)
    delays = fit_blocks(found["fitted"], options.part) if options.blocks else fit(found["fitted"])
    print(f"\n{options.part.name}, {load_tool(options.out / options.part.name)}")
    print(f"{'design':18} {'use':9} {'LUT':>6} {'predicted':>9} {'routed':>7} {'error':>6}")
    ratios = []
    for use, designs in found.items():
        for d in designs:
            predicted = float(np.dot(d.path, delays))
            error = predicted / d.period_ns - 1
            print(f"{d.structure.name:18} {use:9} {d.lut:6} {predicted:9.2f} {d.period_ns:7.2f} {error:+6.0%}")
            if use == "held out":
                ratios.append(d.period_ns / predicted)
    for name, value in zip(NAMES, delays, strict=True):
        if value:
            print(f"{name} = {value:.3f}")
    if ratios:
        print(f"low = {math.floor(min(ratios) * 20) / 20:.2f}\nhigh = {math.ceil(max(ratios) * 20) / 20:.2f}")


def fits(structure: Structure, part: Part) -> bool:
    """Tell whether the part has as many blocks as a structure wants, with delays that nextpnr knows."""
    bits = max(structure.width, 1) * WORDS if "rom" in structure.block else 0
    roms = structure.lanes * -(-bits // (1024 * part.bram_kbit))
    products = structure.lanes if "product" in structure.block else 0
    if products and part.family == "ice40":  # nextpnr 0.11.1 has 0.1 ns placeholders for SB_MAC16
        return False
    return roms <= (part.bram or 0) and products <= (part.dsp or 0)


def load_tool(folder: Path) -> str:
    """Return the router's name and version from any design in a folder."""
    return load_routing(next(iter(sorted(folder.iterdir())))).tool


if __name__ == "__main__":
    main()
