// flow_valid: says for each of the cycles 0 to Depth after a beat that it is there; taps_o[0] is the input itself.
// Latency 0 to Depth cycles by tap, interval 1 cycle. rst_i clears all registers.
module flow_valid #(
  parameter int unsigned Depth = 1
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  logic           valid_i,
  output logic [Depth:0] taps_o
);
  if (Depth == 0) begin : gen_wire
    logic unused_pins;
    assign unused_pins = clk_i ^ rst_i;
    assign taps_o = valid_i;
  end else begin : gen_chain
    logic [Depth-1:0] taps_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        taps_q <= '0;
      end else begin
        taps_q <= taps_o[Depth-1:0];
      end
    end
    assign taps_o = {taps_q, valid_i};
  end
endmodule
