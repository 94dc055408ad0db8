// flow_product: the product of two signed factors, in one DSP block where their widths suit it.
// A module of its own, so that the widths that are declared decide how synthesis maps it. Latency 0 cycles, no clock.
module flow_product #(
  parameter int unsigned AWidth = 2,
  parameter int unsigned BWidth = 2
) (
  input  logic [AWidth-1:0]        a_i,
  input  logic [BWidth-1:0]        b_i,
  output logic [AWidth+BWidth-1:0] product_o
);
  localparam int unsigned Width = AWidth + BWidth;

  logic signed [AWidth-1:0] a;
  logic signed [BWidth-1:0] b;
  logic signed [Width-1:0] product;
  assign a = a_i;
  assign b = b_i;
  assign product = Width'(a) * Width'(b);
  assign product_o = product;
endmodule
