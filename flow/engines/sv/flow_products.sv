// flow_products: Lanes products of an input and a weight each, with Registers registers behind the multipliers.
// Inputs are signed or not (InputSigned), weights and products are signed; product k stands at bit k * (InputWidth +
// WeightWidth). Latency Registers cycles, interval 1 cycle. No reset: data only.
module flow_products #(
  parameter int unsigned Lanes = 1,
  parameter int unsigned InputWidth = 2,
  parameter bit InputSigned = 1'b1,
  parameter int unsigned WeightWidth = 2,
  parameter int unsigned Registers = 1
) (
  input  logic                                      clk_i,
  input  logic [Lanes*InputWidth-1:0]               inputs_i,
  input  logic [Lanes*WeightWidth-1:0]              weights_i,
  output logic [Lanes*(InputWidth+WeightWidth)-1:0] products_o
);
  localparam int unsigned Width = InputWidth + WeightWidth;

  if (Registers == 0) begin : gen_bad_registers
    $error("flow_products: Registers must be at least 1");
  end

  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    logic signed [InputWidth:0] x;
    logic signed [WeightWidth-1:0] w;
    logic signed [Width-1:0] product;
    logic [Registers*Width-1:0] product_q;
    assign x = {InputSigned & inputs_i[(k+1)*InputWidth-1], inputs_i[k*InputWidth +: InputWidth]};
    assign w = weights_i[k*WeightWidth +: WeightWidth];
    assign product = Width'(x) * Width'(w);
    always_ff @(posedge clk_i) begin
      product_q <= (Registers * Width)'({product_q, product});
    end
    assign products_o[k*Width +: Width] = product_q[(Registers-1)*Width +: Width];
  end
endmodule
