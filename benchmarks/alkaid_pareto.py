"""Compare fpgaflow's unrolled hardware with alkaid's own, for the same function and at equal predicted periods.

    python benchmarks/alkaid_pareto.py [--cutoffs 1 2 3 4 5 6] [--yosys CUTOFF]

The networks are the zoo's jet tagger and the public 6-bit jet network. alkaid's program is traced with its own
symbolic API from the same integer weights and types, rounding to even and saturating as hls4ml's C simulation does,
and must equal our evaluator on 2,000 random vectors. It is cut by its own `to_pipeline` at latency cutoffs (in its
delay units). One delay model and one area model (those of fpgaflow's part tables) judge both; both have a register
behind the last stage and none before the first.

Two programs of alkaid are compared: `plain` (its default solver options, its own `quantize`) and `tuned` (adder depth
limited by `hard_dc=2`, quantizers written out of bit operations), the best that was found for it. `retimed` is the
tuned logic, uncut, with registers placed by fpgaflow. Ternary adders, which neither model nor Yosys knows, are left
out. For each point of alkaid the table gives our hardware with the fewest registers whose segments are no longer.

--yosys synthesizes one point of each (minutes each) with the same commands; alkaid's is flattened first.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from yardstick.judge import Point, judged, run_logic, to_cone
from yardstick.networks import KEPT, Network, networks
from yardstick.trace import BITWISE, OWN, VECTORS, differences, traced

from flow.device.delays import Delays, delays_of
from flow.device.parts import Part, find_part
from flow.engines.area import area
from flow.engines.dataflow import dataflow
from flow.engines.engine import Resources, Unrolled
from flow.engines.lower import lower_graph, runs
from flow.engines.network import Network as Cells
from flow.engines.network import connect
from flow.engines.pipeline import Placement, depths_of_total, place, shortest_depths
from flow.graph.graph import Graph, evaluate
from flow.rtl.signature import FORMAT, HashedFile, Signature, signature_to_json
from flow.rtl.top import build_top, write_rtl
from flow.samples import random_inputs
from flow.synth.yosys import run_yosys, synthesize

PROGRAMS = {"plain": (OWN, {}), "tuned": (BITWISE, {"hard_dc": 2})}
MOST_REGISTERS = 12
HEAD = ("design", "registers", "period ns", "latency ns", "LUT", "FF", "Yosys LUT", "Yosys FF")


class Ours:
    """Hold our cells of a network and place registers in them."""

    def __init__(self, graph: Graph, cells: Cells, delays: Delays, family: str) -> None:
        self.graph, self.cells, self.delays, self.family = graph, cells, delays, family

    def within(self, period_ns: float) -> Placement | None:
        """Return the placement with the fewest registers whose segments are within a period, if there is one."""
        depths = shortest_depths(self.cells, self.delays, period_ns)
        return None if depths is None else place(self.cells, depths, self.delays, within_ns=period_ns)

    def with_registers(self, total: int) -> Placement:
        """Return the placement with the shortest segments for so many registers in a row."""
        depths, _ = depths_of_total(self.cells, self.delays, total)
        return place(self.cells, depths, self.delays)

    def point(self, design: str, placed: Placement) -> Point:
        """Predict what a placement takes."""
        found = [area(cone, self.family) for cone in placed.cones]
        registers = max(cone.departure for cone in placed.cones)
        return Point(design, registers, placed.worst_ns, sum(r.lut for r in found), sum(r.ff for r in found))


def check(graph: Graph, logic: Any) -> None:
    """Stop unless alkaid's program and its translation both give what our evaluator gives."""
    raw = random_inputs(graph, VECTORS)[graph.inputs[0]].reshape(VECTORS, -1)
    result = evaluate(graph, random_inputs(graph, VECTORS))[graph.outputs[0]].to_float().reshape(VECTORS, -1)
    if differences(graph, logic) or np.any(run_logic(logic, raw) != result):
        raise SystemExit(f"{graph.name}: alkaid's program computes another function")


def stages_of(logic: Any, cutoff: float) -> Sequence[Any]:
    """Return alkaid's pipeline stages."""
    from alkaid.trace.pipeline import to_pipeline

    return tuple(to_pipeline(logic, latency_cutoff=cutoff, reg_inp=False, verbose=False).logic.values())


def synthesized_alkaid(logic: Any, cutoff: float, folder: Path, part: Part) -> Resources:
    """Write alkaid's RTL for a cutoff, flatten it, and map it with the commands that map ours."""
    from alkaid.codegen import RTLModel
    from alkaid.trace.pipeline import to_pipeline

    pipeline = to_pipeline(logic, latency_cutoff=cutoff, reg_inp=False, verbose=False)
    RTLModel(pipeline, folder / "alkaid", "network", ternary_fuse=False).write()
    written = sorted((folder / "alkaid" / "src").rglob("*.v"))
    names = [str(path.relative_to(folder)) for path in written if not path.stem.endswith("_wrapper")]
    (folder / "rtl").mkdir(exist_ok=True)
    commands = (
        "read_verilog -sv " + " ".join(names),
        "hierarchy -check -top network",
        "proc",
        "flatten",
        "opt_clean",
        "write_verilog -noattr rtl/network.sv",
    )
    run_yosys(commands, folder=folder, log=folder / "flatten.log")
    digest = hashlib.sha256((folder / "rtl" / "network.sv").read_bytes()).hexdigest()
    file = HashedFile("rtl/network.sv", digest)
    latency = len(pipeline.logic)
    signature = Signature(FORMAT, "network", "network", latency, 1, (0,), (latency,), (), (), (), (file,))
    (folder / "signature.json").write_bytes(signature_to_json(signature))
    return synthesize(folder, part).total


def synthesized_ours(ours: Ours, placed: Placement, folder: Path, part: Part) -> Resources:
    """Write our RTL for a placement and map it."""
    choices = tuple(
        Unrolled(run, cone.departure - cone.arrival) for run, cone in zip(runs(ours.graph), placed.cones, strict=True)
    )
    engines = {cone.name: cone for cone in placed.cones}
    modules, signature = build_top(ours.graph, dataflow(ours.graph, choices), engines)
    write_rtl(folder, modules, signature)
    return synthesize(folder, part).total


def row(point: Point) -> str:
    """Return a line of the table."""
    found = ("–", "–") if point.yosys is None else tuple(f"{n:,}" for n in point.yosys)
    cells = (f"{point.registers}", f"{point.period_ns:.2f}", f"{point.latency_ns:.1f}", f"{point.lut:,}")
    return f"{point.design:<26}" + "".join(f"{cell:>11}" for cell in (*cells, f"{point.ff:,}", *found))


def with_yosys(point: Point, found: Resources) -> Point:
    """Return the point with what Yosys counted."""
    return replace(point, yosys=(found.lut, found.ff))


def compare(network: Network, cutoffs: Sequence[float], yosys: float | None) -> bool:
    """Print the table of one network; return whether ours is no worse at every point."""
    graph = network.graph()
    part = find_part(network.options.part or "xcvu13p")
    delays = delays_of(part)
    ours = Ours(graph, connect(lower_graph(graph, runs(graph)), graph.outputs), delays, part.family)
    print(f"\n{network.name} on {part.name}, predicted; alkaid's logic equals ours on {VECTORS:,} random vectors")
    print(f"{HEAD[0]:<26}" + "".join(f"{head:>11}" for head in HEAD[1:]))
    for total in range(1, MOST_REGISTERS + 1):
        print(row(ours.point("fpgaflow", ours.with_registers(total))))
    worse = points = 0
    for program, (quantizer, solver) in PROGRAMS.items():
        logic = traced(graph, quantizer=quantizer, solver=solver)
        check(graph, logic)
        print(f"-- alkaid, {program}: its logic, then ours with segments no longer")
        for cutoff in cutoffs:
            theirs = judged(f"alkaid {program} cutoff {cutoff:g}", stages_of(logic, cutoff), delays, part.family)
            placed = ours.within(theirs.period_ns)
            points += 1
            if placed is None:
                print(row(theirs) + "\nfpgaflow: no register placement is as fast")
                worse += 1
                continue
            mine = ours.point("  fpgaflow, as fast", placed)
            if yosys == cutoff and program == "tuned":
                folder = KEPT / f"{network.name}_yosys"
                theirs = with_yosys(theirs, synthesized_alkaid(logic, cutoff, folder / "alkaid", part))
                mine = with_yosys(mine, synthesized_ours(ours, placed, folder / "fpgaflow", part))
            print(row(theirs))
            print(row(mine))
            pairs = ((mine.registers, theirs.registers), (mine.lut, theirs.lut), (mine.ff, theirs.ff))
            worse += any(a > b for a, b in pairs)
        cone, _ = to_cone(logic)
        retimed = Ours(graph, connect((cone,), (cone.name,)), delays, part.family)
        print(f"-- alkaid's {program} logic with registers placed by fpgaflow")
        for total in (1, 4, 8):
            print(row(retimed.point("alkaid's logic, retimed", retimed.with_registers(total))))
    print(f"{network.name}: fpgaflow needs more registers, LUTs or flip-flops at {worse} of {points} points")
    return worse == 0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutoffs", type=float, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument(
        "--yosys", type=float, metavar="CUTOFF", help="synthesize the tuned program at this cutoff, and ours"
    )
    options = parser.parse_args()
    good = True
    for network in networks():
        if network.missing:
            print(f"{network.name}: skipped, {network.missing}")
        else:
            good &= compare(network, options.cutoffs, options.yosys)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
