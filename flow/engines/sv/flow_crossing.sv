// flow_crossing: hands beats on to the next die of a package, through a register on either side of the wires.
// Latency 2 cycles, interval 1 cycle. rst_i clears valid bits.
module flow_crossing #(
  parameter int unsigned Width = 1  // bits of a beat
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  logic             valid_between;
  logic [Width-1:0] data_between;
  flow_die_border #(
    .Width(Width)
  ) u_before (
    .clk_i  (clk_i),
    .rst_i  (rst_i),
    .valid_i(valid_i),
    .data_i (data_i),
    .valid_o(valid_between),
    .data_o (data_between)
  );
  flow_die_border #(
    .Width(Width)
  ) u_behind (
    .clk_i  (clk_i),
    .rst_i  (rst_i),
    .valid_i(valid_between),
    .data_i (data_between),
    .valid_o(valid_o),
    .data_o (data_o)
  );
endmodule
