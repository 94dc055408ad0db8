"""Compare what folded engines are predicted to take with what Yosys makes of them.

    python benchmarks/folded_resources.py [PART …] [--cases N] [--first N] [--fit] [--out FOLDER]

Draws single dense layers (8 × 8 to 64 × 64, odd sizes among them, 3 to 16 bits), each with one way to fold it: both
loop orders, every weight store, every kind of multiplier. Synthesizes each design on each part and prints what was
predicted beside what was found, for the engine and for its width converters; then errors per quantity. The model was
corrected with cases of even number; those of odd number are left for judging it, and only they are used unless --fit
asks for the others (docs/accuracy.md says what was learned from which). Answers are kept in FOLDER.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.converter import Converter
from flow.engines.dataflow import dataflow
from flow.engines.engine import Resources
from flow.engines.folded import Folded, Multiplier, Order, Store
from flow.engines.folded_cost import converter_resources, folded_resources
from flow.engines.folded_hardware import folded_hardware
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Relu
from flow.graph.store import to_json
from flow.rtl.top import build_top, write_rtl
from flow.synth.result import load_synthesis
from flow.synth.yosys import synthesize

PARTS = ("LFE5U-25F", "xc7a100t", "xcvu13p")
SIZES = ((8, 8), (13, 7), (16, 16), (21, 30), (32, 32), (50, 33), (64, 64))
ORDERS: tuple[Order, ...] = ("output_serial", "input_serial")
STORES: tuple[Store, ...] = ("bram", "lutrom", "registers")
MULTIPLIERS: tuple[Multiplier, ...] = ("dsp", "lut", "dsp_pair")
MOST_MULTIPLIERS: dict[Multiplier, int] = {"dsp": 24, "lut": 8, "dsp_pair": 24}
MOST_RING_BITS = 2048
ALL_INPUTS = 0.3
"""Share of the output-serial engines that take all inputs in one step, and so accumulate nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """Hold what one engine or converter was predicted to take and what was found."""

    what: str
    predicted: Resources
    found: Resources


def case(number: int) -> tuple[Graph, Folded]:
    """Draw a layer with a rectifier and one way to fold both."""
    rng = np.random.default_rng(number)
    order, store, multiplier = ORDERS[number // 2 % 2], STORES[number // 4 % 3], MULTIPLIERS[number // 12 % 3]
    n_in, n_out = SIZES[int(rng.integers(3 if store == "registers" else len(SIZES)))]
    # widths that every part's DSP blocks take: UltraScale+ leaves products of fewer than 9 bits to LUTs
    least, most_x, most_weight = {"dsp": (5, 16, 16), "lut": (3, 16, 16), "dsp_pair": (3, 7, 5)}[multiplier]
    width, weight_width = (int(rng.integers(least, most + 1)) for most in (most_x, most_weight))
    if store == "registers":
        weight_width = max(least, min(weight_width, MOST_RING_BITS // (n_in * n_out)))
    most = MOST_MULTIPLIERS[multiplier]
    p = int(rng.integers(1, min(n_in - 1, most // 2) + 1))
    if order == "output_serial" and n_in <= most and rng.random() < ALL_INPUTS:
        p = n_in
    q = int(rng.integers(1, min(n_out, most // p) + 1))
    if multiplier == "dsp_pair":
        q = max(q, 2)
    graph = layer(rng, n_in, n_out, width, weight_width)
    read, multiply, add = (int(rng.integers(1, most + 1)) for most in (2, 3, 3))
    multiply = 0 if multiplier == "lut" else multiply
    accumulates = p < n_in
    finish = int(rng.integers(1, 3)) if accumulates else 0
    return graph, Folded(("sums", "y"), order, n_in, n_out, p, q, store, multiplier, read, multiply, add, finish)


def layer(rng: np.random.Generator, n_in: int, n_out: int, width: int, weight_width: int) -> Graph:
    """Return a dense layer that keeps all products, with a saturating ReLU."""
    kind, weight = FixedType(width, 2), FixedType(weight_width, 1)
    weights = rng.integers(weight.lo, weight.hi + 1, (n_in, n_out))
    bias = rng.integers(weight.lo, weight.hi + 1, (n_out,))
    for raw in (weights, bias):
        raw.setflags(write=False)
    integer = kind.integer + weight.integer + n_in.bit_length() + 1
    wide = FixedType(integer + kind.fraction + weight.fraction, integer)
    rectified = FixedType(width, 3, False, Rounding.RND if rng.random() < 0.5 else Rounding.TRN, Overflow.SAT)
    nodes = (
        Input(name="x", label="x", inputs=(), shape=(n_in,), type=kind),
        Dense(
            name="sums",
            label="sums",
            inputs=("x",),
            shape=(n_out,),
            type=wide,
            weights=weights,
            bias=bias,
            weight_type=weight,
            bias_type=weight,
            accumulator=wide,
        ),
        Relu(name="y", label="y", inputs=("sums",), shape=(n_out,), type=rectified),
    )
    return Graph(name="layer", nodes=nodes, inputs=("x",), outputs=("y",))


def compare(number: int, part: Part, out: Path) -> tuple[Row, ...]:
    """Synthesize one case for one part; one row for the engine and one for each width converter."""
    graph, choice = case(number)
    flow = dataflow(graph, (choice,))
    engines = {choice.output: folded_hardware(graph, choice, delays_of(part))}
    modules, signature = build_top(graph, flow, engines)
    text = to_json(graph) + repr((part.name, choice, modules)).encode()
    folder = out / part.name / hashlib.sha256(text).hexdigest()[:16]
    if not (folder / "synth" / "result.json").is_file():
        write_rtl(folder, modules, signature)
        synthesize(folder, part)
    found = {row.instance: row.resources for row in load_synthesis(folder).instances}
    rows = []
    for block in flow.blocks:
        if isinstance(block.what, Converter):
            predicted = converter_resources(graph, block.what, part)
        else:
            predicted = folded_resources(graph, choice, part)
        rows.append(Row(block.what.engine, predicted, found[f"u_{block.output}"]))
    return tuple(rows)


def summary(rows: list[Row]) -> str:
    """Return the errors of each quantity: relative where it is counted in hundreds, exact or not where it must be."""
    lines = []
    for name in ("lut", "ff"):
        pairs = [(getattr(r.predicted, name), getattr(r.found, name)) for r in rows if getattr(r.found, name)]
        errors = [predicted / found - 1 for predicted, found in pairs]
        mean = sum(map(abs, errors)) / len(errors)
        lines.append(
            f"  {name.upper():5} mean error {mean:.1%}, worst {max(errors, key=abs):+.1%}, "
            f"bias {sum(errors) / len(errors):+.1%} ({len(errors)} pieces)"
        )
    for name in ("dsp", "bram"):
        pairs = [(getattr(r.predicted, name), getattr(r.found, name)) for r in rows]
        exact = sum(predicted == found for predicted, found in pairs)
        lines.append(f"  {name.upper():5} exact in {exact} of {len(rows)}")
    return "\n".join(lines)


def main() -> None:
    """Print every case, then the errors of each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", type=find_part, default=[find_part(name) for name in PARTS])
    parser.add_argument("--cases", type=int, default=36, help="how many cases, half of them used")
    parser.add_argument(
        "--first", type=int, default=8, help="where they begin; all before 8 helped to correct the model"
    )
    parser.add_argument("--fit", action="store_true", help="the cases that the model was corrected with")
    parser.add_argument("--out", type=Path, default=Path("hls_projects") / "folded_resources")
    options = parser.parse_args()
    for part in options.parts:
        rows = []
        first = options.first + (options.first % 2 == options.fit)
        print(f"{part.name}: LUT, FF, DSP, BRAM predicted / found")
        for number in range(first, options.first + options.cases, 2):
            choice = case(number)[1]
            for row in compare(number, part, options.out):
                rows.append(row)
                counts = "  ".join(
                    f"{getattr(row.predicted, name):6}/{getattr(row.found, name):<6}"
                    for name in ("lut", "ff", "dsp", "bram")
                )
                shape = f"{choice.n_in}x{choice.n_out} by {choice.p}x{choice.q} {choice.order} {choice.store}"
                print(f"{number:3} {row.what:8} {counts} {shape} {choice.multiplier}", flush=True)
        print(summary([row for row in rows if row.what == "folded"]))


if __name__ == "__main__":
    main()
