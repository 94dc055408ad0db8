// flow_regroup: takes a tensor of Size elements in beats of LanesIn and gives it in beats of LanesOut.
// Element k comes in beat k / LanesIn at lane k % LanesIn and leaves in beat k / LanesOut at lane k % LanesOut; lanes of
// the last beat beyond Size are dropped, and carry nothing. A beat leaves one cycle after the last of its elements has
// come, but at least Spacing cycles after the beat before it; the next tensor may begin with the last beat that leaves.
// Latency 1 cycle, interval from the first beat that comes to the last that leaves. rst_i clears the counts.
module flow_regroup #(
  parameter int unsigned Width    = 1,  // bits of an element
  parameter int unsigned Size     = 3,
  parameter int unsigned LanesIn  = 1,
  parameter int unsigned LanesOut = 2,
  parameter int unsigned Spacing  = 1
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  input  logic                      valid_i,
  input  logic [LanesIn*Width-1:0]  data_i,
  output logic                      valid_o,
  output logic [LanesOut*Width-1:0] data_o
);
  localparam int unsigned BeatsIn = (Size + LanesIn - 1) / LanesIn;
  localparam int unsigned BeatsOut = (Size + LanesOut - 1) / LanesOut;
  localparam int unsigned InWidth = $clog2(BeatsIn);
  localparam int unsigned OutWidth = $clog2(BeatsOut);
  localparam int unsigned CountWidth = $clog2(Size + 1);

  if (Width == 0 || LanesIn == 0 || LanesIn >= Size || LanesOut == 0 || LanesOut >= Size || Spacing == 0)
  begin : gen_bad_parameters
    $error("flow_regroup: Width, lanes and Spacing must be at least 1, and lanes less than Size");
  end

  logic [InWidth-1:0] in_q;  // beat that comes next
  logic [OutWidth-1:0] out_q;  // beat that leaves next
  logic [CountWidth-1:0] have_q;  // elements that came
  logic [CountWidth-1:0] need_q;  // elements that must have come before that beat leaves
  logic due;  // Spacing cycles have passed since the last beat left
  logic last_in, last_out, done;
  assign last_in = in_q == InWidth'(BeatsIn - 1);
  assign last_out = out_q == OutWidth'(BeatsOut - 1);
  assign valid_o = (have_q >= need_q) & due;
  assign done = valid_o & last_out;

  logic [CountWidth-1:0] have_before, need_next;
  assign have_before = done ? '0 : have_q;
  assign need_next = out_q == OutWidth'(BeatsOut - 2) ? CountWidth'(Size) : need_q + CountWidth'(LanesOut);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_q <= '0;
      out_q <= '0;
      have_q <= '0;
      need_q <= CountWidth'(LanesOut);
    end else begin
      if (valid_i) begin
        in_q <= last_in ? '0 : in_q + InWidth'(1);
        have_q <= last_in ? CountWidth'(Size) : have_before + CountWidth'(LanesIn);
      end else begin
        have_q <= have_before;
      end
      if (valid_o) begin
        out_q <= last_out ? '0 : out_q + OutWidth'(1);
        need_q <= last_out ? CountWidth'(LanesOut) : need_next;
      end
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
      end else if (valid_o & ~last_out) begin
        wait_q <= WaitWidth'(Spacing - 1);
      end else if (!due) begin
        wait_q <= wait_q - WaitWidth'(1);
      end
    end
  end

  logic [Size*Width-1:0] buffer_q;
  for (genvar beat = 0; beat < BeatsIn; beat++) begin : gen_beat
    localparam int unsigned Low = beat * LanesIn * Width;
    localparam int unsigned High = beat == BeatsIn - 1 ? Size * Width : Low + LanesIn * Width;
    always_ff @(posedge clk_i) begin
      if (valid_i && in_q == InWidth'(beat)) begin
        buffer_q[High-1:Low] <= data_i[High-Low-1:0];
      end
    end
  end

  logic [BeatsOut*LanesOut*Width-1:0] beats;
  assign beats = (BeatsOut*LanesOut*Width)'(buffer_q);
  assign data_o = beats[out_q*(LanesOut*Width) +: LanesOut*Width];
endmodule
