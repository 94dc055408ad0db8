// flow_weight_ring: weights in flip-flops, one word for each step, in the order of the steps.
// In the cycle after step_i it shows that step's word. rst_i loads all words from contents_i, a constant, so that the
// next step is the first. Latency 1 cycle from step_i.
module flow_weight_ring #(
  parameter int unsigned Width = 1,
  parameter int unsigned Words = 1
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   step_i,
  input  logic [Words*Width-1:0] contents_i,
  output logic [Width-1:0]       word_o
);
  logic [Words*Width-1:0] ring_q;  // the word that is shown stands on top: after reset none has been asked for
  assign word_o = ring_q[(Words-1)*Width +: Width];

  if (Words == 1) begin : gen_constant
    logic unused_step;
    assign unused_step = step_i;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        ring_q <= contents_i;
      end
    end
  end else begin : gen_ring
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        ring_q <= contents_i;
      end else if (step_i) begin
        ring_q <= {ring_q[Width-1:0], ring_q[Words*Width-1:Width]};
      end
    end
  end
endmodule
