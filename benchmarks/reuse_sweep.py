"""Cycles against resources over reuse factors, beside hls4ml's published results: docs/folded.md and docs/reuse.svg.

    python benchmarks/reuse_sweep.py [--synth] [--picture docs/reuse.svg]

The network has the shape and precision of a public study's (16-64-32-32-5, fixed<16,6>; weights are random here, as
they were trained there, so that LUTs of ours do not profit from zeros). Every layer gets the same reuse factor or the
nearest smaller one that it has. Ours are predicted; with --synth Yosys counts them too.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from flow.device.parts import find_part
from flow.engines.engine import Resources
from flow.fixed import FixedType
from flow.graph.graph import Asked, Graph
from flow.graph.nodes import AnyNode, Dense, Input, Relu
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.rtl.top import write_rtl
from flow.synth.yosys import synthesize

SIZES = (16, 64, 32, 32, 5)
KIND = FixedType(16, 6)
REQUEST = Request(part="xcku115", clock="200MHz")
REUSE = (2, 4, 8, 16, 32, 64)
SYNTHESIZED = (8, 32)  # reuse factors that --synth maps


@dataclass(frozen=True, slots=True)
class Point:
    """Hold one result: its reuse factor, cycles from input to output, II in cycles, and resources."""

    reuse: int
    cycles: int
    interval: int
    resources: Resources


# Vivado HLS 2018.3 (its estimates: DSP, LUT, FF, BRAM), hls4ml, xcku115 at 5 ns, model KERAS_3layer; latency is the
# best of a range of 5 cycles. Source: hls4ml reuse factor stress results, 2018, revisions 94c1139 and 38f27ca.
PUBLISHED = (
    Point(2, 39, 2, Resources(lut=104_400, ff=170_279, dsp=2_160, bram=13)),
    Point(4, 42, 4, Resources(lut=168_331, ff=85_073, dsp=1_096, bram=13)),
    Point(8, 56, 8, Resources(lut=96_235, ff=52_469, dsp=532, bram=13)),
    Point(16, 87, 16, Resources(lut=58_324, ff=33_452, dsp=266, bram=13)),
    Point(32, 182, 32, Resources(lut=56_448, ff=25_504, dsp=133, bram=13)),
    Point(64, 346, 64, Resources(lut=47_126, ff=30_595, dsp=79, bram=13)),
)


def network(reuse: int) -> Graph:
    """Return the study's network with random weights, every layer asking for a reuse factor."""
    rng = np.random.default_rng(1)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(SIZES[0],), type=KIND)]
    for k, (n_in, n_out) in enumerate(pairwise(SIZES)):
        weights = np.clip(np.rint(rng.normal(0, 1 / np.sqrt(n_in), (n_in, n_out)) * 1024), KIND.lo, KIND.hi)
        nodes.append(
            Dense(
                name=f"fc{k}",
                label=f"fc{k}",
                inputs=(nodes[-1].name,),
                shape=(n_out,),
                type=KIND,
                weights=weights.astype(np.int64),
                bias=rng.integers(-200, 200, n_out),
                weight_type=KIND,
                bias_type=KIND,
                accumulator=KIND,
            )
        )
        if k < len(SIZES) - 2:
            nodes.append(Relu(name=f"relu{k}", label=f"relu{k}", inputs=(nodes[-1].name,), shape=(n_out,), type=KIND))
    asked = tuple(Asked(f"fc{k}", reuse, "Resource") for k in range(len(SIZES) - 1))
    return Graph(f"reuse_{reuse}", tuple(nodes), ("x",), (nodes[-1].name,), asked=asked)


def planned(reuse: int) -> Point:
    """Return what the planner makes of a reuse factor."""
    graph = network(reuse)
    plan = make_plan(graph, REQUEST)
    timeline = timeline_of(graph, plan.choices)
    return Point(reuse, timeline.latency, timeline.interval, plan.resources)


def synthesized(reuse: int) -> Resources:
    """Return what Yosys counts."""
    graph = network(reuse)
    design = realize(graph, REQUEST, make_plan(graph, REQUEST))
    with tempfile.TemporaryDirectory() as scratch:
        write_rtl(Path(scratch), design.modules, design.signature)
        return synthesize(Path(scratch), find_part(REQUEST.part)).total


def row(who: str, point: Point) -> str:
    """Return a line of the table."""
    r = point.resources
    return (
        f"| {point.reuse} | {who} | {point.cycles} | {point.interval} | {r.dsp:,} | {r.bram:,} | {r.lut:,} | {r.ff:,} |"
    )


def draw(points: list[Point], path: Path) -> None:
    """Draw latency against DSP blocks and against LUTs."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fpgaflow"  # same points, same bytes
    mpl.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for axis, kind, title in zip(axes, ("dsp", "lut"), ("DSP blocks", "LUTs"), strict=True):
        for series, label, style in (
            (PUBLISHED, "hls4ml, Vivado HLS 2018 (published)", "s--"),
            (points, "fpgaflow (predicted)", "o-"),
        ):
            used = [getattr(point.resources, kind) for point in series]
            axis.plot(used, [point.cycles * 5 for point in series], style, label=label)
            for point, x in zip(series, used, strict=True):
                axis.annotate(
                    f"{point.reuse}", (x, point.cycles * 5), textcoords="offset points", xytext=(5, 4), fontsize=8
                )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel(title)
        axis.grid(visible=True, which="both", alpha=0.3)
    axes[0].set_ylabel("latency in ns at 200 MHz")
    axes[0].set_yticks([200, 400, 800, 1600], labels=["200", "400", "800", "1600"])
    axes[0].set_yticks([], minor=True)
    axes[0].legend(fontsize=8)
    figure.suptitle("16-64-32-32-5, 16 bit, xcku115; each point: its reuse factor", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synth", action="store_true", help="let Yosys count some of ours, too (minutes)")
    parser.add_argument("--picture", type=Path, help="an SVG file to write")
    asked = parser.parse_args()
    print("| reuse | whose | cycles | II | DSP | BRAM | LUT | FF |")
    print("|---|---|---|---|---|---|---|---|")
    points = []
    for theirs in PUBLISHED:
        ours = planned(theirs.reuse)
        points.append(ours)
        print(row("ours, predicted", ours))
        if asked.synth and theirs.reuse in SYNTHESIZED:
            print(row("ours, synthesized", replace(ours, resources=synthesized(theirs.reuse))))
        print(row("hls4ml, published", theirs))
    if asked.picture is not None:
        draw(points, asked.picture)


if __name__ == "__main__":
    main()
