"""Compare predictions with Yosys and nextpnr on networks that no model was fitted to.

    python benchmarks/prediction_error.py [PART …] [--networks N] [--out FOLDER]

Draws small random networks (dense layers with ReLU, several widths and sparsities), plans and builds them for each
part, synthesizes them, and on parts with an open router places and routes them. Prints LUT, FF and the longest
segment, predicted beside found, and their mean and largest errors. Answers are kept in FOLDER and not computed again.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from flow.device.parts import Part, find_part
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Dense, Input, Relu
from flow.graph.store import to_json
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.rtl.top import write_rtl
from flow.synth.nextpnr import ROUTED_FAMILIES, route
from flow.synth.result import load_routing, load_synthesis
from flow.synth.yosys import synthesize

PARTS = ("xcvu13p",)
SHAPES = ((8, 6, 4), (10, 8, 5), (16, 10, 5), (6, 12, 6), (12, 16, 8), (16, 16, 10))


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one network on one part: (predicted, found) of each figure; no period where nothing routes."""

    network: str
    part: str
    lut: tuple[float, float]
    ff: tuple[float, float]
    period_ns: tuple[float, float] | None


def network(seed: int) -> Graph:
    """Draw a chain of dense layers, each with a ReLU, all products kept."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    bits = int(rng.integers(3, 9))
    kind = FixedType(bits, 2)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(shape[0],), type=kind)]
    for k, (n_in, n_out) in enumerate(pairwise(shape)):
        before = nodes[-1]
        weight = FixedType(int(rng.integers(3, 8)), 1)
        codes = rng.integers(weight.lo, weight.hi + 1, (n_in, n_out))
        weights = np.where(rng.random((n_in, n_out)) < rng.choice([0.0, 0.3, 0.6]), 0, codes)
        bias = rng.integers(weight.lo, weight.hi + 1, (n_out,))
        for raw in (weights, bias):
            raw.setflags(write=False)
        integer = before.type.integer + weight.integer + n_in.bit_length() + 1
        wide = FixedType(integer + before.type.fraction + weight.fraction, integer)
        nodes.append(
            Dense(
                name=f"dense{k}",
                label=f"dense{k}",
                inputs=(before.name,),
                shape=(n_out,),
                type=wide,
                weights=weights,
                bias=bias,
                weight_type=weight,
                bias_type=weight,
                accumulator=wide,
            )
        )
        rectified = FixedType(bits, 2, False, Rounding.RND_CONV, Overflow.SAT)
        nodes.append(Relu(name=f"relu{k}", label=f"relu{k}", inputs=(f"dense{k}",), shape=(n_out,), type=rectified))
    return Graph(name=f"random{seed}", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,))


def compare(seed: int, part: Part, out: Path) -> Row:
    """Build one network for one part and set what was predicted beside what the tools found."""
    graph = network(seed)
    request = Request(part=part.name)
    design = realize(graph, request, make_plan(graph, request))
    text = to_json(graph) + repr((part.name, design.signature)).encode()
    folder = out / part.name / hashlib.sha256(text).hexdigest()[:16]
    routes = part.family in ROUTED_FAMILIES
    done = folder / "synth" / ("route/result.json" if routes else "result.json")
    if not done.is_file():
        write_rtl(folder, design.modules, design.signature)
        synthesize(folder, part)
        if routes:
            route(folder, part, clock_ns=design.plan.clock.period_ns)
    found = load_synthesis(folder).total
    predicted = design.plan.resources
    period = (design.worst_ns, load_routing(folder).period_ns) if routes else None
    return Row(graph.name, part.name, (predicted.lut, found.lut), (predicted.ff, found.ff), period)


def summary(rows: list[Row], what: Callable[[Row], tuple[float, float] | None]) -> str:
    """Return mean and largest error of a figure, and the span of found over predicted."""
    pairs = [pair for row in rows if (pair := what(row)) is not None]
    if not pairs:
        return "not routed"
    errors = [predicted / found - 1 for predicted, found in pairs]
    ratios = [found / predicted for predicted, found in pairs]
    mean = sum(map(abs, errors)) / len(errors)
    return (
        f"mean error {mean:.1%}, largest {max(errors, key=abs):+.1%}, "
        f"found/predicted {min(ratios):.2f} to {max(ratios):.2f}"
    )


def main() -> None:
    """Print the table of one or more parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", type=find_part, default=[find_part(name) for name in PARTS])
    parser.add_argument("--networks", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("hls_projects") / "prediction_error")
    options = parser.parse_args()
    heads = ("LUT pred", "found", "FF pred", "found", "ns pred", "found")
    print(f"{'network':10} {'part':10} {' '.join(f'{head:>8}' for head in heads)}")
    for part in options.parts:
        rows = []
        for seed in range(options.networks):
            row = compare(seed, part, options.out)
            rows.append(row)
            ns = "" if row.period_ns is None else f"{row.period_ns[0]:8.2f} {row.period_ns[1]:8.2f}"
            counts = f"{row.lut[0]:8.0f} {row.lut[1]:8.0f} {row.ff[0]:8.0f} {row.ff[1]:8.0f}"
            print(f"{row.network:10} {part.name:10} {counts} {ns}", flush=True)
        print(f"  LUT:    {summary(rows, lambda row: row.lut)}")
        print(f"  FF:     {summary(rows, lambda row: row.ff)}")
        print(f"  period: {summary(rows, lambda row: row.period_ns)}")


if __name__ == "__main__":
    main()
