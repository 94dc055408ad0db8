// flow_product_pairs: Lanes inputs, each times two weights, with one multiplier for both products.
// A pair of weights (low, high) stands as {high - borrow, low}, borrow being 1 where low is negative; the first part has
// a bit more than a weight. So the multiplier's operand is high * 2**Width + low, and its result is high product *
// 2**Width + low product: the low product is its low part, the high one what stands above, plus 1 where the low one is
// negative; that addition stands before the last register. Products as in flow_products, those of the low weights on
// low_o. Latency Registers cycles, interval 1 cycle. No reset: data only.
module flow_product_pairs #(
  parameter int unsigned Lanes = 1,
  parameter int unsigned InputWidth = 2,
  parameter bit InputSigned = 1'b1,
  parameter int unsigned WeightWidth = 2,
  parameter int unsigned Registers = 1
) (
  input  logic                                      clk_i,
  input  logic [Lanes*InputWidth-1:0]               inputs_i,
  input  logic [Lanes*(2*WeightWidth+1)-1:0]        weights_i,
  output logic [Lanes*(InputWidth+WeightWidth)-1:0] low_o,
  output logic [Lanes*(InputWidth+WeightWidth)-1:0] high_o
);
  localparam int unsigned Width = InputWidth + WeightWidth;
  localparam int unsigned Both = 2 * Width;

  if (Registers < 1 || Registers > 3) begin : gen_bad_registers
    $error("flow_product_pairs: Registers must be 1 to 3");
  end

  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    localparam int unsigned At = k * (2 * WeightWidth + 1);
    logic signed [InputWidth:0] x;
    logic signed [Width+WeightWidth:0] w;
    logic signed [Both-1:0] product, delayed;
    logic [Width-1:0] low_q, high_q;
    assign x = {InputSigned & inputs_i[(k+1)*InputWidth-1], inputs_i[k*InputWidth +: InputWidth]};
    assign w = {
      weights_i[At + WeightWidth +: WeightWidth + 1],
      {InputWidth{weights_i[At + WeightWidth - 1]}},
      weights_i[At +: WeightWidth]
    };
    assign product = Both'(x) * Both'(w);
    if (Registers == 1) begin : gen_direct
      assign delayed = product;
    end else begin : gen_registered
      logic [(Registers-1)*Both-1:0] product_q;
      always_ff @(posedge clk_i) begin
        product_q <= ((Registers - 1) * Both)'({product_q, product});
      end
      assign delayed = product_q[(Registers-2)*Both +: Both];
    end
    always_ff @(posedge clk_i) begin
      low_q <= delayed[Width-1:0];
      high_q <= delayed[Both-1:Width] + Width'(delayed[Width-1]);
    end
    assign low_o[k*Width +: Width] = low_q;
    assign high_o[k*Width +: Width] = high_q;
  end
endmodule
