// flow_small_net: the network small net.
// Latency 3 cycles from data_i to data_o, interval 1.
// rst_i clears valid bits and overrun_o, nothing else. signature.json describes the ports.
module flow_small_net (
  input logic clk_i,
  input logic rst_i,
  input logic valid_i,
  input logic [9:0] data_i,
  output logic valid_o,
  output logic [23:0] data_o,
  output logic overrun_o
);

  // inputs
  logic first_beat;
  flow_interval_guard #(.Interval(1), .Beats(1), .Spacing(1)) u_interval (
    .clk_i(clk_i),
    .rst_i(rst_i),
    .valid_i(valid_i),
    .first_o(first_beat),
    .overrun_o(overrun_o)
  );
  logic [9:0] edge_x;
  assign edge_x = data_i;
  logic valid_at_x;
  assign valid_at_x = first_beat;

  // cycle 1: hidden
  logic [7:0] edge_hidden;

  // valid bits
  logic [3:0] valid_taps;
  flow_valid #(.Depth(3)) u_valid (
    .clk_i(clk_i),
    .rst_i(rst_i),
    .valid_i(first_beat),
    .taps_o(valid_taps)
  );
  logic valid_at_hidden;
  assign valid_at_hidden = valid_taps[1];
  logic valid_at_out;
  assign valid_at_out = valid_taps[3];
  flow_cone_hidden u_hidden (
    .clk_i(clk_i),
    .data_i(edge_x),
    .data_o(edge_hidden)
  );

  // cycle 3: out
  logic [15:0] edge_out;
  flow_cone_out u_out (
    .clk_i(clk_i),
    .data_i(edge_hidden),
    .data_o(edge_out)
  );

  // outputs
  assign valid_o = valid_at_out;
  logic [7:0] late_hidden;
  flow_delay #(.Width(8), .Depth(2)) u_late_hidden (
    .clk_i(clk_i),
    .data_i(edge_hidden),
    .data_o(late_hidden)
  );
  assign data_o = {late_hidden, edge_out};

  // what only benches read
  logic unused_taps;
  assign unused_taps = ^{valid_taps, valid_at_x, valid_at_hidden, valid_at_out};
endmodule
