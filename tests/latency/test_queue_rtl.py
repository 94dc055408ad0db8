"""The hardware takes every inference when the queue admits it, and complains of one cycle less."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from flow.latency.arrivals import draw
from flow.latency.queue import Service, serve
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.runner import design_sources
from flow.simulate.verilator import Design, build_design, find_toolchain
from tests.benches import MAIN
from tests.plan.graphs import dense_network

pytestmark = pytest.mark.eda
RESET = 4  # cycles

BENCH = """module bench (input logic clk_i);
  int unsigned cycle_q = 0;
  always_ff @(posedge clk_i) cycle_q <= cycle_q + 1;
  logic [0:0] start [0:%(cycles)d];
  initial $readmemb("start.mem", start);
  logic valid, overrun;
  logic [%(out_bits)d:0] data;
  %(top)s u_top (.clk_i(clk_i), .rst_i(cycle_q < %(reset)d), .valid_i(start[cycle_q][0]),
    .data_i(%(in_bits)d'(cycle_q)), .valid_o(valid), .data_o(data), .overrun_o(overrun));
  always_ff @(posedge clk_i) if (cycle_q >= %(reset)d) begin
    if (valid) $display("valid %%0d", cycle_q);
    if (overrun) $display("overrun %%0d", cycle_q);
    if (cycle_q == %(cycles)d) $finish;
  end
endmodule
"""


@pytest.fixture(scope="module")
def hardware(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queue")
    graph = dense_network(12, 8, 4)
    request = Request(part="xcvu9p", clock="200MHz", budget="10us", rate="5MHz")
    design = realize(graph, request, make_plan(graph, request))
    return folder, write_rtl(folder, design.modules, design.signature)


def played(folder: Path, signature: Signature, starts: list[int]) -> tuple[list[int], list[int]]:
    """Return the cycles of results and of overrun_o for inferences that begin at these cycles, both from zero."""
    cycles = starts[-1] + signature.latency_cycles + RESET + 8
    levels = ["0"] * (cycles + 1)
    for start in starts:
        levels[RESET + start] = "1"
    (folder / "start.mem").write_text("\n".join(levels) + "\n")
    names = {"cycles": cycles, "reset": RESET, "top": signature.top}
    names |= {"in_bits": signature.input_bits, "out_bits": signature.output_bits - 1}
    bench, main = folder / "bench.sv", folder / "main.cpp"
    bench.write_text(BENCH % names)
    main.write_text(MAIN)
    sources = (bench, *design_sources(folder, signature))
    control = "`verilator_config\nlint_off\n"
    design = Design("bench", sources, control, main, ("-Wno-lint", "-Wno-style"), "-O0", ())
    program = build_design(find_toolchain(), design, folder / "build", "run").resolve()
    # memory files of the design are named relative to its folder
    (folder / "rtl" / "start.mem").write_bytes((folder / "start.mem").read_bytes())
    said = subprocess.run([program], cwd=folder / "rtl", check=True, capture_output=True, text=True).stdout
    seen: dict[str, list[int]] = {"valid": [], "overrun": []}
    for line in said.splitlines():
        word = line.split()
        if word and word[0] in seen:
            seen[word[0]].append(int(word[1]) - RESET)
    return seen["valid"], seen["overrun"]


def test_the_hardware_takes_what_the_queue_admits_and_answers_after_its_latency(hardware):
    folder, signature = hardware
    interval, latency = signature.interval_cycles, signature.latency_cycles
    assert interval > 3
    rate = 0.9 * 200 / interval
    arrivals = draw(f"poisson:{rate:.6f}MHz,count=400,seed=2")
    served = serve(arrivals, Service(interval, latency, 5.0))
    starts = served.admissions.tolist()
    assert min(np.diff(starts)) == interval  # it is put to the test
    results, overruns = played(folder, signature, starts)
    assert results == [start + latency for start in starts]
    assert overruns == []
    # one admission a cycle sooner than the queue allows
    hasty = int(np.flatnonzero(np.diff(starts) == interval)[0]) + 1
    sooner = [start - (k >= hasty) for k, start in enumerate(starts)]
    assert played(folder, signature, sooner)[1]
