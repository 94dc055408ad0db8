// flow_products: Lanes products of an input and a weight each, with a register behind the multipliers.
// Inputs are signed or not (InputSigned), weights and products are signed; product k stands at bit k * (InputWidth +
// WeightWidth). Only one register stands here: of more, some tools lose the multiplier. Latency 1 cycle, interval 1
// cycle. No reset: data only.
module flow_products #(
  parameter int unsigned Lanes = 1,
  parameter int unsigned InputWidth = 2,
  parameter bit InputSigned = 1'b1,
  parameter int unsigned WeightWidth = 2
) (
  input  logic                                      clk_i,
  input  logic [Lanes*InputWidth-1:0]               inputs_i,
  input  logic [Lanes*WeightWidth-1:0]              weights_i,
  output logic [Lanes*(InputWidth+WeightWidth)-1:0] products_o
);
  localparam int unsigned Width = InputWidth + WeightWidth;

  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    logic signed [InputWidth:0] x;
    logic signed [WeightWidth-1:0] w;
    logic signed [Width-1:0] product, product_q;
    assign x = {InputSigned & inputs_i[(k+1)*InputWidth-1], inputs_i[k*InputWidth +: InputWidth]};
    assign w = weights_i[k*WeightWidth +: WeightWidth];
    assign product = Width'(x) * Width'(w);
    always_ff @(posedge clk_i) begin
      product_q <= product;
    end
    assign products_o[k*Width +: Width] = product_q;
  end
endmodule
