"""The hand-written modules: their behaviour, and bad parameters."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import pytest

from flow.rtl.top import hand_written_texts
from flow.simulate.verilator import Design, build_design, find_toolchain
from tests.benches import lint

SV = Path(str(resources.files("flow.engines"))) / "sv"

BENCH = """
module bench (input logic clk_i);
  int unsigned cycle_q = 0;
  int wrong = 0;
  logic [31:0] noise_q = 32'h12345678;
  always_ff @(posedge clk_i) begin
    cycle_q <= cycle_q + 1;
    noise_q <= {noise_q[30:0], noise_q[31] ^ noise_q[21] ^ noise_q[1] ^ noise_q[0]};
  end
  logic [6:0] past_q [0:8];
  logic [6:0] now;
  assign now = noise_q[6:0];
  always_ff @(posedge clk_i) begin
    past_q[0] <= now;
    for (int k = 1; k < 9; k++) past_q[k] <= past_q[k-1];
  end
  logic [6:0] d0, d1, d5;
  logic one3;
  flow_delay #(.Width(7), .Depth(0)) u_d0 (.clk_i(clk_i), .data_i(now), .data_o(d0));
  flow_delay #(.Width(7), .Depth(1)) u_d1 (.clk_i(clk_i), .data_i(now), .data_o(d1));
  flow_delay #(.Width(7), .Depth(5)) u_d5 (.clk_i(clk_i), .data_i(now), .data_o(d5));
  flow_delay #(.Width(1), .Depth(3)) u_one (.clk_i(clk_i), .data_i(now[0]), .data_o(one3));

  logic reset, valid;
  assign reset = cycle_q < 2 || cycle_q == 40;
  assign valid = noise_q[9];
  logic [3:0] taps;
  logic tap0;
  flow_valid #(.Depth(3)) u_v3 (.clk_i(clk_i), .rst_i(reset), .valid_i(valid), .taps_o(taps));
  flow_valid #(.Depth(0)) u_v0 (.clk_i(clk_i), .rst_i(reset), .valid_i(valid), .taps_o(tap0));
  logic [2:0] model_q;
  always_ff @(posedge clk_i) model_q <= reset ? '0 : {model_q[1:0], valid};

  // starts every 3 cycles are fine for an interval of 3; one after 2 cycles is not
  logic start, late, early, never;
  logic [2:0] first;
  assign start = cycle_q >= 10 && cycle_q < 30 && (cycle_q % 3) == 0;
  flow_interval_guard #(.Interval(3)) u_late (
    .clk_i(clk_i), .rst_i(reset), .valid_i(start), .first_o(first[0]), .overrun_o(late));
  flow_interval_guard #(.Interval(3)) u_early (
    .clk_i(clk_i), .rst_i(reset), .valid_i(start || cycle_q == 20), .first_o(first[1]), .overrun_o(early));
  flow_interval_guard #(.Interval(1)) u_never (
    .clk_i(clk_i), .rst_i(reset), .valid_i(1'b1), .first_o(first[2]), .overrun_o(never));

  always_ff @(posedge clk_i) begin
    if (d0 !== now || (cycle_q > 9 && (d1 !== past_q[0] || d5 !== past_q[4] || one3 !== past_q[2][0])))
      wrong <= wrong + 1;
    if (cycle_q > 1 && (taps !== {model_q, valid} || tap0 !== valid)) wrong <= wrong + 1;
    if (cycle_q > 1 && (late || never)) wrong <= wrong + 1;
    if (first !== {1'b1, start || cycle_q == 20, start}) wrong <= wrong + 1;
    // the start at 20 follows one at 18: seen from 21 until the reset at 40
    if (early !== (cycle_q >= 21 && cycle_q <= 40) && cycle_q > 2) wrong <= wrong + 1;
    if (cycle_q == 60) begin
      $display("wrong %0d", wrong);
      $finish;
    end
  end
endmodule
"""

# the modules of every design, with a fault that the bench must see; the others are tested with what uses them
FAULTS = {
    "flow_delay": ("(Depth-1)*Width +: Width", "0 +: Width"),
    "flow_valid": ("taps_q <= '0;", "taps_q <= '1;"),
    "flow_interval_guard": ("CountWidth'(Interval - 1)", "CountWidth'(Interval - 2)"),
}

MAIN = """#include "Vtop.h"
#include "verilated.h"
int main() {
  VerilatedContext context;
  context.randReset(2);
  Vtop top{&context};
  while (!context.gotFinish()) {
    for (int clock : {0, 1}) {
      top.clk_i = clock;
      top.eval();
    }
  }
}
"""


def run_bench(folder: Path, sources: list[Path]) -> str:
    (folder / "bench.sv").write_text(BENCH)
    (folder / "main.cpp").write_text(MAIN)
    design = Design(
        "bench",
        (folder / "bench.sv", *sources),
        "`verilator_config\n",
        folder / "main.cpp",
        ("--x-initial", "unique"),
        "-O0",
        (),
    )
    program = build_design(find_toolchain(), design, folder / "build", "run")
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.eda
def test_delay_valid_and_guard(tmp_path: Path) -> None:
    assert "wrong 0\n" in run_bench(tmp_path, [SV / f"{name}.sv" for name in FAULTS])


@pytest.mark.eda
def test_the_bench_sees_faults(tmp_path: Path) -> None:
    sources = []
    for name, (right, _) in FAULTS.items():
        text = (SV / f"{name}.sv").read_text()
        assert right in text
        sources.append(tmp_path / f"{name}.sv")
        sources[-1].write_text(text)
    for path in sources:
        good = path.read_text()
        path.write_text(good.replace(*FAULTS[path.stem]))
        assert "wrong 0\n" not in run_bench(tmp_path, sources), path.name
        path.write_text(good)


@pytest.mark.eda
def test_lint_and_bad_parameters(tmp_path: Path) -> None:
    for path in sorted(SV.glob("*.sv")):
        files = [SV / f"{name}.sv" for name, _ in hand_written_texts({path.stem})]
        assert not lint(tmp_path, files, path.stem)
    pins = {
        "flow_delay": ("Width", ".clk_i(c), .data_i(c), .data_o(o)"),
        "flow_interval_guard": ("Interval", ".clk_i(c), .rst_i(c), .valid_i(c), .first_o(), .overrun_o(o)"),
    }
    for name, (parameter, wires) in pins.items():
        text = f"module bad (input logic c, output logic o); {name} #(.{parameter}(0)) u_bad ({wires}); endmodule\n"
        (tmp_path / "bad.sv").write_text(text)
        assert "must be at least 1" in lint(tmp_path, [tmp_path / "bad.sv", SV / f"{name}.sv"], "bad")
