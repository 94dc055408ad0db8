// flow_sequencer: counts the steps of a folded engine, Inner * Outer of them for each inference, one a cycle.
// PerBeat 0: one beat on valid_i begins all steps. PerBeat 1: each of Outer beats begins Inner steps.
// step_o is high in the cycle in which a step is requested, the cycle of valid_i included. In that cycle index_o is the
// step's number, first_o tells that its products begin a sum, last_o that they complete it, group_o which group of
// outputs they belong to; next_o is the number of the step that will be requested after this cycle.
// Latency 0 cycles. rst_i clears all registers: the next beat begins an inference.
module flow_sequencer #(
  parameter int unsigned Inner = 1,
  parameter int unsigned Outer = 1,
  parameter bit PerBeat = 1'b0,
  parameter int unsigned IndexWidth = 1,
  parameter int unsigned GroupWidth = 1
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  valid_i,
  output logic                  step_o,
  output logic                  first_o,
  output logic                  last_o,
  output logic [GroupWidth-1:0] group_o,
  output logic [IndexWidth-1:0] index_o,
  output logic [IndexWidth-1:0] next_o
);
  localparam int unsigned Steps = Inner * Outer;
  localparam int unsigned InnerWidth = Inner > 1 ? $clog2(Inner) : 1;
  localparam int unsigned OuterWidth = Outer > 1 ? $clog2(Outer) : 1;

  if (Inner == 0 || Outer == 0 || (64'd1 << IndexWidth) < 64'(Steps)) begin : gen_bad_sizes
    $error("flow_sequencer: Inner and Outer must be at least 1, and IndexWidth must hold all steps");
  end

  logic running_q;  // steps remain of those that the last beat began
  logic [InnerWidth-1:0] inner_q;
  logic [OuterWidth-1:0] outer_q;
  logic [IndexWidth-1:0] index_q;
  logic inner_ends, outer_ends, ends;

  assign step_o = valid_i | running_q;
  assign inner_ends = inner_q == InnerWidth'(Inner - 1);
  assign outer_ends = outer_q == OuterWidth'(Outer - 1);
  assign ends = inner_ends & (outer_ends | PerBeat);
  assign index_o = index_q;

  always_comb begin
    next_o = index_q;
    if (rst_i) begin
      next_o = '0;
    end else if (step_o) begin
      next_o = (inner_ends & outer_ends) ? '0 : index_q + IndexWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    index_q <= next_o;
    if (rst_i) begin
      running_q <= 1'b0;
      inner_q <= '0;
      outer_q <= '0;
    end else if (step_o) begin
      running_q <= ~ends;
      inner_q <= inner_ends ? '0 : inner_q + InnerWidth'(1);
      if (inner_ends) begin
        outer_q <= outer_ends ? '0 : outer_q + OuterWidth'(1);
      end
    end
  end

  if (PerBeat) begin : gen_per_beat
    assign first_o = outer_q == '0;
    assign last_o = outer_ends;
    assign group_o = GroupWidth'(inner_q);
  end else begin : gen_per_tensor
    assign first_o = inner_q == '0;
    assign last_o = inner_ends;
    assign group_o = GroupWidth'(outer_q);
  end
endmodule
