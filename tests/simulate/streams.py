"""Small designs written by hand whose ports carry several beats or several tensors, with signatures and vectors."""

from __future__ import annotations

import numpy as np

from flow.fixed import FixedArray, FixedType
from flow.rtl.signature import FORMAT, Edge, Signature, TensorPort
from flow.simulate.vectors import expected
from tests.simulate.designs import HandDesign

BYTE, NINE = FixedType(8, 4), FixedType(9, 5)
X = TensorPort("x", "pixels", (5, 1), BYTE, 0, 2)
K = TensorPort("k", "offset", (1,), BYTE, 16, 1)
SHIFTED = TensorPort("shifted", "shifted", (5, 1), NINE, 0, 2)
A = TensorPort("a", "first input", (2,), FixedType(6, 3), 0, 2)
B = TensorPort("b", "second input", (1,), FixedType(5, 2, signed=False), 12, 1)
P = TensorPort("p", "first output", (2,), FixedType(8, 5), 0, 2)
Q = TensorPort("q", "second output", (1,), FixedType(11, 5), 16, 1)

STREAM = """
module short_fifo #(parameter int unsigned Depth = 2) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        push_i,
    input  logic [17:0] data_i,
    input  logic        pop_i,
    output logic [17:0] data_o
);
  logic [17:0] words [4];
  logic [1:0] in_q, out_q;
  logic [2:0] held_q;
  assign data_o = words[out_q];
  always_ff @(posedge clk_i) begin
    if (push_i) words[in_q] <= data_i;
    if (rst_i) {in_q, out_q, held_q} <= '0;
    else begin
      in_q <= in_q + 2'(push_i);
      out_q <= out_q + 2'(pop_i);
      held_q <= held_q + 3'(push_i) - 3'(pop_i);
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) begin
    if (push_i && !pop_i && held_q == 3'(Depth)) $error("no room for what comes");
    assert (!(pop_i && held_q == 3'd0)) else $error("nothing is there to leave");
  end
`endif
endmodule

module stream (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        valid_i,
    input  logic [23:0] data_i,
    output logic        valid_o,
    output logic [17:0] data_o,
    output logic        overrun_o
);
  logic [1:0] beat_q, wait_q;
  wire first = valid_i && beat_q == 2'd0;
  wire [15:0] x_data = data_i[15:0];
  wire [7:0] k_data = data_i[23:16];
  logic x_valid_q, sum_valid_q, y_valid_q;
  logic [15:0] x_q;
  logic signed [7:0] k_q;
  logic [17:0] sum_q, y_q, head;
  logic [6:0] due_q;
  wire pop = |due_q[6:4];
  wire signed [7:0] x0 = x_q[7:0];
  wire signed [7:0] x1 = x_q[15:8];
  short_fifo #(.Depth(2)) u_fifo (
      .clk_i(clk_i), .rst_i(rst_i), .push_i(sum_valid_q), .data_i(sum_q), .pop_i(pop), .data_o(head)
  );
  always_ff @(posedge clk_i) begin
    x_q <= x_data;
    if (first) k_q <= k_data;
    sum_q <= {9'(x1) + 9'(k_q), 9'(x0) + 9'(k_q)};
    if (pop) y_q <= head;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {beat_q, wait_q, x_valid_q, sum_valid_q, y_valid_q, due_q} <= '0;
    end else begin
      if (valid_i) beat_q <= beat_q == 2'd2 ? 2'd0 : beat_q + 2'd1;
      if (valid_i) wait_q <= beat_q == 2'd2 ? 2'd2 : 2'd1;
      else wait_q <= wait_q - 2'(wait_q != 2'd0);
      x_valid_q <= valid_i;
      sum_valid_q <= x_valid_q;
      due_q <= {due_q[5:0], first};
      y_valid_q <= pop;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) begin
    assert (wait_q == 2'd0 || !valid_i) else $error("a beat came too early");
  end
`endif
  assign valid_o = y_valid_q;
  assign data_o = y_q;
  assign overrun_o = valid_i && wait_q != 2'd0;
endmodule
"""

PAIR = """
module pair (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        valid_i,
    input  logic [16:0] data_i,
    output logic        valid_o,
    output logic [26:0] data_o,
    output logic        overrun_o
);
  wire signed [5:0] a0 = data_i[5:0];
  wire signed [5:0] a1 = data_i[11:6];
  wire signed [5:0] b = {1'b0, data_i[16:12]};
  logic signed [7:0] p0_q, p1_q;
  logic signed [10:0] q_q;
  always_ff @(posedge clk_i) begin
    p0_q <= 8'(a0) + 8'(b);
    p1_q <= 8'(a1) - 8'(b);
    q_q <= a0 * b;
    valid_o <= valid_i && !rst_i;
  end
  assign data_o = {q_q, p1_q, p0_q};
  assign overrun_o = 1'b0;
endmodule
"""


def stream(count: int = 50) -> HandDesign:
    """Return a design that adds one input to another: pixels come in beats, the offset with the first of them.

    The beats pass a FIFO that is just deep enough and says when it is not, and leave at another pace: cycles 0, 2, 4 in
    and 6, 7, 8 out. The interval is 7.
    """
    draw = np.random.default_rng(5)
    x, k = draw.integers(-128, 128, (count, 5, 1)), draw.integers(-128, 128, (count, 1))
    y = x + k[:, None]
    signature = Signature(
        format=FORMAT,
        model="hand",
        top="stream",
        latency_cycles=8,
        interval_cycles=7,
        input_cycles=(0, 2, 4),
        output_cycles=(6, 7, 8),
        inputs=(X, K),
        outputs=(SHIFTED,),
        edges=(
            Edge("x", "x", "x_data", "valid_i", X, (0, 2, 4)),
            Edge("k", "k", "k_data", "first", TensorPort("k", "offset", (1,), BYTE, 0, 1), (0,)),
            Edge("shifted", "shifted", "sum_q", "sum_valid_q", SHIFTED, (2, 4, 6)),
        ),
        files=(),
    )
    values = {port.name: FixedArray(raw, port.type) for port, raw in ((X, x), (K, k), (SHIFTED, y))}
    return HandDesign(STREAM, signature, expected(signature, values))


def pair(count: int = 50) -> HandDesign:
    """Return a design of latency 1 and interval 1 with two inputs and two outputs."""
    draw = np.random.default_rng(5)
    a, b = draw.integers(-32, 32, (count, 2)), draw.integers(0, 32, (count, 1))
    p, q = np.concatenate([a[:, :1] + b, a[:, 1:] - b], axis=1), a[:, :1] * b
    signature = Signature(
        format=FORMAT,
        model="hand",
        top="pair",
        latency_cycles=1,
        interval_cycles=1,
        input_cycles=(0,),
        output_cycles=(1,),
        inputs=(A, B),
        outputs=(P, Q),
        edges=(),
        files=(),
    )
    values = {port.name: FixedArray(raw, port.type) for port, raw in ((A, a), (B, b), (P, p), (Q, q))}
    return HandDesign(PAIR, signature, expected(signature, values))
