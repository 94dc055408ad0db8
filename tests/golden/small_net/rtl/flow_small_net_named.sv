// flow_small_net_named: flow_small_net with a port for each tensor, in the order that the model declares.
// data_x_i: x, 2 of fixed<5,3>.
// data_out_o: dense 2, 2 of fixed<8,8>.
// data_hidden_o: relu, 2 of ufixed<4,2>.
module flow_small_net_named (
  input logic clk_i,
  input logic rst_i,
  input logic valid_i,
  input logic [9:0] data_x_i,
  output logic valid_o,
  output logic [15:0] data_out_o,
  output logic [7:0] data_hidden_o,
  output logic overrun_o
);
  logic [23:0] data_o;
  flow_small_net u_top (
    .clk_i(clk_i),
    .rst_i(rst_i),
    .valid_i(valid_i),
    .data_i(data_x_i),
    .valid_o(valid_o),
    .data_o(data_o),
    .overrun_o(overrun_o)
  );
  assign data_out_o = data_o[15:0];
  assign data_hidden_o = data_o[23:16];
endmodule
