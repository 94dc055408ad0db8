"""Two small designs written by hand, with their signatures and vectors, in a run's folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flow.fixed import FixedArray, FixedType
from flow.rtl.signature import FORMAT, Edge, HashedFile, Signature, TensorPort, signature_to_json
from flow.simulate.vectors import Vectors, expected

X = TensorPort("x", "the input", (3,), FixedType(8, 4), 0)
SUMS = TensorPort("sums", "dense 1", (2,), FixedType(9, 5), 0)
RELU = TensorPort("relu", "relu", (2,), FixedType(8, 4, signed=False), 0)
Y = TensorPort("y", "dense 2", (2,), FixedType(12, 6), 0)
TOTAL = TensorPort("total", "total", (1,), FixedType(11, 7), 0)

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


@dataclass(frozen=True, slots=True)
class HandDesign:
    """Hold a design's text, its true signature, and vectors for it."""

    text: str
    signature: Signature
    vectors: Vectors

    def write(self, folder: Path, *, edits: dict[str, str] | None = None, signature: Signature | None = None) -> Path:
        """Write a run's folder; `edits` are made in the text, which must hold each of them once."""
        text = self.text
        for old, new in (edits or {}).items():
            assert text.count(old) == 1, f"{old} stands {text.count(old)} times in the design"
            text = text.replace(old, new)
        (folder / "rtl").mkdir(parents=True, exist_ok=True)
        path = f"rtl/{self.signature.top}.sv"
        (folder / path).write_text(text)
        files = (HashedFile(path, hashlib.sha256(text.encode()).hexdigest()),)
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
        inputs=(X,),
        outputs=(Y,),
        edges=(
            Edge("sums", "sums", "a_data_q", "a_valid_q", SUMS, 2, (1,)),
            Edge("relu", "relu", "b_data_q", "b_valid_q", RELU, 2, (2,)),
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
        inputs=(X,),
        outputs=(TOTAL,),
        edges=(Edge("x", "x", "x_data_q", "x_valid_q", X, 3, (1,)),),
        files=(),
    )
    values = {"x": FixedArray(x, X.type), "total": FixedArray(total, TOTAL.type)}
    return HandDesign(SERIAL, signature, expected(signature, values))
