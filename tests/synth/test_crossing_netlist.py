"""Crossings stay flip-flops: in the mapped design, and where Yosys may make shift registers of what is flattened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.crossing import Crossing
from flow.engines.dataflow import whole_tensors
from flow.engines.engine import Unrolled
from flow.engines.lower import runs
from flow.engines.streamed_cost import waiting_resources
from flow.graph.graph import evaluate
from flow.rtl.top import hand_written_text, write_rtl
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from flow.synth.netlist import netlist_for_simulation
from flow.synth.yosys import run_yosys, synthesize
from tests.conformance.small_design import tiny_graph
from tests.networks import vectors
from tests.streaming import build

pytestmark = pytest.mark.eda

TWO_IN_A_ROW = """
module top (
  input logic clk_i, input logic rst_i, input logic valid_i, input logic [7:0] data_i,
  output logic valid_o, output logic [7:0] data_o
);
  logic valid;
  logic [7:0] data;
  flow_crossing #(.Width(8)) u_a (.clk_i, .rst_i, .valid_i, .data_i, .valid_o(valid), .data_o(data));
  flow_crossing #(.Width(8)) u_b (.clk_i, .rst_i, .valid_i(valid), .data_i(data), .valid_o, .data_o);
endmodule
"""


def cells(folder: Path, border: str) -> dict[str, int]:
    """Return the primitives of two crossings in a row, flattened, where shift registers are allowed."""
    texts = {"top.sv": TWO_IN_A_ROW, "flow_crossing.sv": hand_written_text("flow_crossing"), "border.sv": border}
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    commands = (
        f"read_verilog -sv {' '.join(texts)}",
        "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top top",
        "delete =A:blackbox",
        "write_json mapped.json",
    )
    run_yosys(commands, folder=folder, log=folder / "log.txt")
    modules = json.loads((folder / "mapped.json").read_bytes())["modules"]

    def count(name: str, found: dict[str, int]) -> dict[str, int]:
        for cell in modules[name]["cells"].values():
            kind = cell["type"]
            if kind in modules:
                count(kind, found)
            else:
                found[kind] = found.get(kind, 0) + 1
        return found

    return count("top", {})


def test_two_crossings_in_a_row_become_no_shift_register(tmp_path: Path) -> None:
    border = hand_written_text("flow_die_border")
    found = cells(tmp_path / "kept", border)
    assert found["FDRE"] == 2 * 2 * (8 + 1)
    assert not [kind for kind in found if kind.startswith("SRL")]
    merged = cells(tmp_path / "merged", border.replace('(* keep_hierarchy = "yes" *)', ""))
    assert merged["SRL16E"] == 8, "nothing to prevent here"


def test_the_netlist_of_a_design_on_two_dies_does_what_is_due(tmp_path: Path) -> None:
    graph, part = tiny_graph(), find_part("xcvu9p")
    choices = tuple(Unrolled(nodes, 1) for nodes in runs(graph))
    design = build(graph, choices, replace(whole_tensors(graph), dies=(0, 2)))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    result = synthesize(tmp_path, part)
    assert design.flow is not None
    ffs = {instance.instance: instance.resources.ff for instance in result.instances}
    found = [block for block in design.flow.blocks if isinstance(block.what, Crossing)]
    assert len(found) == 2
    for block in found:
        assert isinstance(block.what, Crossing)
        width = graph.node(block.what.node).type.width
        assert ffs[f"u_{block.output}"] == waiting_resources(block.what, width, part).ff
    files = netlist_for_simulation(tmp_path, result)
    checked = expected(signature, evaluate(graph, vectors(np.random.default_rng(3), graph, 40)))
    simulated = simulate(tmp_path, vectors=checked, seeds=(1,), netlist=files.netlist, cell_models=files.cell_models)
    assert simulated.passed, simulated.failures
    assert simulated.latency_simulated == design.timeline.latency == 2 + 2 * 2
