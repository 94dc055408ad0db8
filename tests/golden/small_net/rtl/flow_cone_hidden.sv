// flow_cone_hidden: one unrolled piece of the network, weights are wiring.
// Layers: dense 1, relu.
// Latency 1 cycle from the latest input, interval 1 cycle. No reset.
module flow_cone_hidden (
  input logic clk_i,
  input logic [9:0] data_i,
  output logic [7:0] data_o
);

  // stage 0
  logic signed [4:0] x0;
  assign x0 = data_i[4:0];
  logic signed [4:0] x1;
  assign x1 = data_i[9:5];
  logic signed [5:0] v2;
  assign v2 = 6'(signed'(x0[4:2])) - 6'(x1);
  logic signed [5:0] v3;
  assign v3 = 6'(x0) + 6'(signed'(x1[4:1]));
  logic [3:0] v9;
  assign v9 = v3[5] ? 4'h0 : v3[3:0];

  // registers into stage 1
  logic [1:0] x0_q1;
  logic signed [5:0] v2_q1;
  logic [3:0] v9_q1;
  always_ff @(posedge clk_i) begin
    x0_q1 <= x0[1:0];
    v2_q1 <= v2;
    v9_q1 <= v9;
  end

  // stage 1
  logic signed [5:0] v4;
  assign v4 = v2_q1 + signed'(6'({x0_q1[1] & (x0_q1[0] | v2_q1[0])}));
  logic [3:0] v6;
  assign v6 = ((~v4[5]) & v4[4]) ? 4'hf : (v4[5] ? 4'h0 : v4[3:0]);

  // output
  assign data_o = {v9_q1, v6};

  // bits that nothing reads
  logic unused_bits;
  assign unused_bits = ^v3[4];
endmodule
