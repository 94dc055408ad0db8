// flow_split: hands a whole tensor of Size elements on in beats of LanesOut elements, Spacing cycles apart.
// Element k leaves in beat k / LanesOut at lane k % LanesOut; lanes of the last beat beyond Size carry nothing.
// Latency 0 cycles to the first beat, interval Spacing cycles for each beat. rst_i clears the counts.
module flow_split #(
  parameter int unsigned Width    = 1,  // bits of an element
  parameter int unsigned Size     = 2,
  parameter int unsigned LanesOut = 1,
  parameter int unsigned Spacing  = 1
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  input  logic                      valid_i,
  input  logic [Size*Width-1:0]     data_i,
  output logic                      valid_o,
  output logic [LanesOut*Width-1:0] data_o
);
  localparam int unsigned Beats = (Size + LanesOut - 1) / LanesOut;
  localparam int unsigned BeatBits = LanesOut * Width;
  localparam int unsigned HeldBits = Size * Width - BeatBits;  // all beats but the first
  localparam int unsigned LeftWidth = $clog2(Beats);

  if (Width == 0 || LanesOut == 0 || LanesOut >= Size || Spacing == 0) begin : gen_bad_parameters
    $error("flow_split: Width, LanesOut and Spacing must be at least 1, and LanesOut less than Size");
  end

  logic [LeftWidth-1:0] left_q;  // beats that have not left
  logic due;  // Spacing cycles have passed since the last one
  logic next;
  assign next = (left_q != '0) & due;
  assign valid_o = valid_i | next;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left_q <= '0;
    end else if (valid_i) begin
      left_q <= LeftWidth'(Beats - 1);
    end else if (next) begin
      left_q <= left_q - LeftWidth'(1);
    end
  end

  if (Spacing == 1) begin : gen_every_cycle
    assign due = 1'b1;
  end else begin : gen_spaced
    localparam int unsigned WaitWidth = $clog2(Spacing);
    logic [WaitWidth-1:0] wait_q;
    assign due = wait_q == '0;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        wait_q <= '0;
      end else if (valid_i | due) begin
        wait_q <= WaitWidth'(Spacing - 1);
      end else begin
        wait_q <= wait_q - WaitWidth'(1);
      end
    end
  end

  logic [HeldBits-1:0] held_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      held_q <= data_i[Size*Width-1:BeatBits];
    end else if (next) begin
      held_q <= held_q >> BeatBits;
    end
  end
  assign data_o = valid_i ? data_i[BeatBits-1:0] : BeatBits'(held_q);
endmodule
