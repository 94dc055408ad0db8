// flow_gather: collects the beats of a tensor of Size elements, LanesIn in a beat, and hands the whole on with the last.
// Element k comes in beat k / LanesIn at lane k % LanesIn; what the last beat carries beyond Size is dropped.
// Latency 0 cycles from the last beat, interval as many cycles as the beats span. rst_i clears the count of beats.
module flow_gather #(
  parameter int unsigned Width   = 1,  // bits of an element
  parameter int unsigned Size    = 2,
  parameter int unsigned LanesIn = 1
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  input  logic                     valid_i,
  input  logic [LanesIn*Width-1:0] data_i,
  output logic                     valid_o,
  output logic [Size*Width-1:0]    data_o
);
  localparam int unsigned Beats = (Size + LanesIn - 1) / LanesIn;
  localparam int unsigned Kept = (Beats - 1) * LanesIn;  // elements that wait for the last beat
  localparam int unsigned CountWidth = $clog2(Beats);

  if (Width == 0 || LanesIn == 0 || LanesIn >= Size) begin : gen_bad_parameters
    $error("flow_gather: Width and LanesIn must be at least 1, and LanesIn less than Size");
  end

  logic [CountWidth-1:0] count_q;  // beats that came
  logic is_last;
  assign is_last = count_q == CountWidth'(Beats - 1);
  assign valid_o = valid_i & is_last;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
    end else if (valid_i) begin
      count_q <= is_last ? '0 : count_q + CountWidth'(1);
    end
  end

  // a new beat enters at the top, the first one has moved to the bottom when the last one comes
  logic [Kept*Width-1:0] kept_q;
  logic [(Kept+LanesIn)*Width-1:0] beats;
  assign beats = {data_i, kept_q};
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      kept_q <= beats[(Kept+LanesIn)*Width-1:LanesIn*Width];
    end
  end
  assign data_o = beats[Size*Width-1:0];
endmodule
