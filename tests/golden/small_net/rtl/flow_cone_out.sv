// flow_cone_out: one unrolled piece of the network, weights are wiring.
// Layers: dense 2.
// Latency 2 cycles from the latest input, interval 1 cycle. No reset.
module flow_cone_out (
  input logic clk_i,
  input logic [7:0] data_i,
  output logic [15:0] data_o
);

  // stage 1
  logic [3:0] x0;
  assign x0 = data_i[3:0];
  logic [3:0] x1;
  assign x1 = data_i[7:4];

  // registers into stage 2
  logic [3:0] x0_q1;
  logic [3:0] x1_q1;
  always_ff @(posedge clk_i) begin
    x0_q1 <= x0;
    x1_q1 <= x1;
  end

  // stage 2
  logic [4:0] v3;
  assign v3 = signed'(5'(x0_q1[3:1])) + signed'(5'(x1_q1));
  logic signed [4:0] v4;
  assign v4 = signed'(5'(v3[4:2])) - signed'(5'(x0_q1));

  // registers into stage 3
  logic x0_q2;
  logic [3:0] x1_q2;
  logic [1:0] v3_q1;
  logic signed [4:0] v4_q1;
  always_ff @(posedge clk_i) begin
    x0_q2 <= x0_q1[0];
    x1_q2 <= x1_q1;
    v3_q1 <= v3[1:0];
    v4_q1 <= v4;
  end

  // output
  assign data_o = {{v4_q1, v3_q1, x0_q2}, {3'h0, x1_q2, 1'h0}};
endmodule
