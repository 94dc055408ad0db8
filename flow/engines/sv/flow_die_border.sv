// flow_die_border: the register of a beat at the border of a die. A module of its own, so that it can be placed there;
// it is kept apart and in flip-flops, as a shift register in a LUT would leave the wires without one at an end.
// Latency 1 cycle, interval 1 cycle. rst_i clears the valid bit.
(* keep_hierarchy = "yes" *)
module flow_die_border #(
  parameter int unsigned Width = 1  // bits of a beat
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  (* shreg_extract = "no" *) logic valid_q;
  (* shreg_extract = "no" *) logic [Width-1:0] data_q;
  always_ff @(posedge clk_i) begin
    valid_q <= ~rst_i & valid_i;
    data_q  <= data_i;
  end
  assign valid_o = valid_q;
  assign data_o  = data_q;
endmodule
