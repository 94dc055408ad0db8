"""Three small designs written by hand, with their signatures and vectors, in a run's folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flow.fixed import FixedArray, FixedType
from flow.rtl.signature import FORMAT, Edge, HashedFile, Signature, StoredMemory, TensorPort, signature_to_json
from flow.simulate.vectors import Vectors, expected

X = TensorPort("x", "the input", (3,), FixedType(8, 4), 0, 3)
SUMS = TensorPort("sums", "dense 1", (2,), FixedType(9, 5), 0, 2)
RELU = TensorPort("relu", "relu", (2,), FixedType(8, 4, signed=False), 0, 2)
Y = TensorPort("y", "dense 2", (2,), FixedType(12, 6), 0, 2)
FIVE = TensorPort("x", "the input", (5,), FixedType(8, 4), 0, 5)
PRODUCTS = TensorPort("products", "products", (5,), FixedType(12, 8), 0, 5)
SUM = TensorPort("sum", "sum", (1,), FixedType(15, 11), 0, 1)
TOTAL = TensorPort("total", "total", (1,), FixedType(11, 7), 0, 1)

PIPELINE = """
module pipeline (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        valid_i,
    input  logic [23:0] data_i,
    output logic        valid_o,
    output logic [23:0] data_o,
    output logic        overrun_o
);
  logic a_valid_q, b_valid_q, y_valid_q;
  logic [17:0] a_data_q;
  logic [15:0] b_data_q;
  logic [23:0] y_data_q;
  wire signed [7:0] x0 = data_i[7:0];
  wire signed [7:0] x1 = data_i[15:8];
  wire signed [7:0] x2 = data_i[23:16];
  wire signed [8:0] a0 = a_data_q[8:0];
  wire signed [8:0] a1 = a_data_q[17:9];
  wire signed [11:0] b0 = {4'd0, b_data_q[7:0]};
  wire signed [11:0] b1 = {4'd0, b_data_q[15:8]};
  wire signed [11:0] y0 = b0 + 12'sd3 * b1 + 12'sd37;
  wire signed [11:0] y1 = b0 - b1;
  always_ff @(posedge clk_i) begin
    a_data_q <= {9'(x1) - 9'(x2), 9'(x0) + 9'(x1)};
    b_data_q <= {a1[8] ? 8'd0 : a1[7:0], a0[8] ? 8'd0 : a0[7:0]};
    y_data_q <= {y1, y0};
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) {a_valid_q, b_valid_q, y_valid_q} <= 3'b000;
    else {a_valid_q, b_valid_q, y_valid_q} <= {valid_i, a_valid_q, b_valid_q};
  end
  assign valid_o = y_valid_q;
  assign data_o = y_data_q;
  assign overrun_o = 1'b0;
endmodule
"""

SERIAL = """
module serial (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        valid_i,
    input  logic [23:0] data_i,
    output logic        valid_o,
    output logic [10:0] data_o,
    output logic        overrun_o
);
  logic x_valid_q;
  logic [23:0] x_data_q;
  logic [1:0] left_q;
  logic [2:0] busy_q;
  logic signed [10:0] sum_q;
  wire signed [7:0] x0 = x_data_q[7:0];
  wire signed [7:0] x1 = x_data_q[15:8];
  wire signed [7:0] x2 = x_data_q[23:16];
  always_ff @(posedge clk_i) begin
    if (valid_i) x_data_q <= data_i;
    if (busy_q[0]) sum_q <= 11'(x0);
    else if (busy_q[1]) sum_q <= sum_q + (11'(x1) <<< 1);
    else if (busy_q[2]) sum_q <= sum_q + (11'(x2) <<< 1) + 11'(x2);
  end
  logic done_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {x_valid_q, busy_q, done_q, left_q} <= '0;
    end else begin
      x_valid_q <= valid_i;
      busy_q <= {busy_q[1:0], valid_i};
      done_q <= busy_q[2];
      left_q <= valid_i ? 2'd2 : left_q - 2'(left_q != 2'd0);
    end
  end
  assign valid_o = done_q;
  assign data_o = sum_q;
  assign overrun_o = valid_i && left_q != 2'd0;
endmodule
"""


BEATS = """
module beats_rom (input logic [1:0] address_i, output logic [7:0] word_o);
  logic [7:0] words [3];
  initial $readmemh("beats.mem", words);
  assign word_o = words[address_i];
endmodule

module beats (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        valid_i,
    input  logic [39:0] data_i,
    output logic        valid_o,
    output logic [14:0] data_o,
    output logic        overrun_o
);
  logic [39:0] hold_q;
  logic [1:0] beat_q, last_beat_q;
  logic busy_q, odd_q;
  wire x_valid = busy_q && !odd_q;
  wire [15:0] x_data = hold_q[15:0];
  logic [7:0] word;
  beats_rom u_rom (.address_i(beat_q), .word_o(word));
  logic products_valid_q, total_valid_q;
  logic signed [11:0] product0_q, product1_q;
  wire [23:0] products = {product1_q, product0_q};
  logic signed [14:0] total_q;
  logic [2:0] left_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) hold_q <= data_i;
    else if (busy_q && odd_q) hold_q <= {16'hBEEF, hold_q[39:16]};
    product0_q <= 12'(signed'(x_data[7:0])) * 12'(signed'(word[3:0]));
    product1_q <= 12'(signed'(x_data[15:8])) * 12'(signed'(word[7:4]));
    last_beat_q <= beat_q;
    if (products_valid_q) begin
      if (last_beat_q == 2'd0) total_q <= 15'(product0_q) + 15'(product1_q);
      else if (last_beat_q == 2'd1) total_q <= total_q + 15'(product0_q) + 15'(product1_q);
      else total_q <= total_q + 15'(product0_q);
    end
    if (rst_i) begin
      {busy_q, odd_q, beat_q, products_valid_q, total_valid_q, left_q} <= '0;
    end else begin
      products_valid_q <= x_valid;
      total_valid_q <= products_valid_q && last_beat_q == 2'd2;
      left_q <= valid_i ? 3'd4 : left_q - 3'(left_q != 3'd0);
      if (valid_i) begin
        {busy_q, odd_q, beat_q} <= 4'b1000;
      end else if (busy_q) begin
        odd_q <= !odd_q;
        beat_q <= beat_q + 2'(odd_q);
        busy_q <= !(x_valid && beat_q == 2'd2);
      end
    end
  end
  assign valid_o = total_valid_q;
  assign data_o = total_q;
  assign overrun_o = valid_i && left_q != 3'd0;
endmodule
"""
BEATS_CONTENTS = "3a\n7f\ne9\n"  # weights 0 and 1, 2 and 3, 4 and one that no element meets


@dataclass(frozen=True, slots=True)
class HandDesign:
    """Hold a design's text, its true signature, vectors for it, and the contents of its memories by file."""

    text: str
    signature: Signature
    vectors: Vectors
    contents: tuple[tuple[str, str], ...] = ()

    def write(self, folder: Path, *, edits: dict[str, str] | None = None, signature: Signature | None = None) -> Path:
        """Write a run's folder; `edits` are made in the text, which must hold each of them once."""
        text = self.text
        for old, new in (edits or {}).items():
            assert text.count(old) == 1, f"{old} stands {text.count(old)} times in the design"
            text = text.replace(old, new)
        (folder / "rtl").mkdir(parents=True, exist_ok=True)
        path = f"rtl/{self.signature.top}.sv"
        (folder / path).write_text(text)
        texts = {path: text, **dict(self.contents)}
        for name, content in self.contents:
            (folder / name).write_text(content)
        files = tuple(HashedFile(name, hashlib.sha256(content.encode()).hexdigest()) for name, content in texts.items())
        written = replace(signature or self.signature, files=files)
        (folder / "signature.json").write_bytes(signature_to_json(written))
        return folder


def _random_inputs(count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-128, 128, size=(count, 3))


def pipeline(count: int = 50) -> HandDesign:
    """Return a design of latency 3 and interval 1 with two edges inside."""
    x = _random_inputs(count)
    sums = np.stack([x[:, 0] + x[:, 1], x[:, 1] - x[:, 2]], axis=1)
    relu = np.maximum(sums, 0)
    y = np.stack([relu[:, 0] + 3 * relu[:, 1] + 37, relu[:, 0] - relu[:, 1]], axis=1)
    signature = Signature(
        format=FORMAT,
        model="hand",
        top="pipeline",
        latency_cycles=3,
        interval_cycles=1,
        input_cycles=(0,),
        output_cycles=(3,),
        inputs=(X,),
        outputs=(Y,),
        edges=(
            Edge("sums", "sums", "a_data_q", "a_valid_q", SUMS, (1,)),
            Edge("relu", "relu", "b_data_q", "b_valid_q", RELU, (2,)),
        ),
        files=(),
    )
    values = {port.name: FixedArray(raw, port.type) for port, raw in ((X, x), (SUMS, sums), (RELU, relu), (Y, y))}
    return HandDesign(PIPELINE, signature, expected(signature, values))


def serial(count: int = 50) -> HandDesign:
    """Return a design of latency 4 and interval 3 that tells when an inference starts too soon."""
    x = _random_inputs(count)
    total = (x[:, 0] + 2 * x[:, 1] + 3 * x[:, 2])[:, None]
    signature = Signature(
        format=FORMAT,
        model="hand",
        top="serial",
        latency_cycles=4,
        interval_cycles=3,
        input_cycles=(0,),
        output_cycles=(4,),
        inputs=(X,),
        outputs=(TOTAL,),
        edges=(Edge("x", "x", "x_data_q", "x_valid_q", X, (1,)),),
        files=(),
    )
    values = {"x": FixedArray(x, X.type), "total": FixedArray(total, TOTAL.type)}
    return HandDesign(SERIAL, signature, expected(signature, values))


def beats(count: int = 50) -> HandDesign:
    """Return a design of latency 7 and interval 5 whose edges carry beats of two lanes, and which has a memory."""
    x = np.random.default_rng(5).integers(-128, 128, size=(count, 5))
    weights = np.array([int(line[k], 16) for line in BEATS_CONTENTS.split() for k in (1, 0)][:5])
    products = x * np.where(weights > 7, weights - 16, weights)
    signature = Signature(
        format=FORMAT,
        model="hand",
        top="beats",
        latency_cycles=7,
        interval_cycles=5,
        input_cycles=(0,),
        output_cycles=(7,),
        inputs=(FIVE,),
        outputs=(SUM,),
        edges=(
            Edge("x_by_2", "x", "x_data", "x_valid", replace(FIVE, lanes=2), (1, 3, 5)),
            Edge("products", "products", "products", "products_valid_q", replace(PRODUCTS, lanes=2), (2, 4, 6)),
        ),
        files=(),
        memories=(StoredMemory("rtl/beats.mem", 3, 8, "beats_rom", "u_rom.words"),),
    )
    values = {
        port.name: FixedArray(raw, port.type)
        for port, raw in ((FIVE, x), (PRODUCTS, products), (SUM, products.sum(axis=1, keepdims=True)))
    }
    return HandDesign(BEATS, signature, expected(signature, values), (("rtl/beats.mem", BEATS_CONTENTS),))
