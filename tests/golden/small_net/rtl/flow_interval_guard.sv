// flow_interval_guard: finds the first beat of each inference, and tells when beats come otherwise than agreed.
// An inference has Beats beats, exactly Spacing cycles apart, and begins at least Interval cycles after the last one.
// overrun_o rises one cycle after a beat that comes too early, or that is late, and stays until reset: from then on
// results may be mixed up. first_o: this beat is the first of an inference. rst_i clears all registers.
module flow_interval_guard #(
  parameter int unsigned Interval = 1,
  parameter int unsigned Beats    = 1,
  parameter int unsigned Spacing  = 1
) (
  input  logic clk_i,
  input  logic rst_i,
  input  logic valid_i,
  output logic first_o,
  output logic overrun_o
);
  if (Interval == 0 || Beats == 0 || Spacing == 0) begin : gen_bad_parameters
    $error("flow_interval_guard: Interval, Beats and Spacing must be at least 1");
  end

  logic broken;  // within an inference
  if (Beats == 1) begin : gen_one_beat
    assign first_o = valid_i;
    assign broken = 1'b0;
  end else begin : gen_beats
    localparam int unsigned BeatWidth = $clog2(Beats);
    logic [BeatWidth-1:0] came_q;  // beats of this inference
    logic begun, due;
    assign begun = came_q != '0;
    assign first_o = valid_i & ~begun;
    assign broken = begun & (valid_i != due);
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        came_q <= '0;
      end else if (valid_i) begin
        came_q <= came_q == BeatWidth'(Beats - 1) ? '0 : came_q + BeatWidth'(1);
      end
    end
    if (Spacing == 1) begin : gen_every_cycle
      assign due = 1'b1;
    end else begin : gen_spaced
      localparam int unsigned WaitWidth = $clog2(Spacing);
      logic [WaitWidth-1:0] wait_q;
      assign due = wait_q == '0;
      always_ff @(posedge clk_i) begin
        wait_q <= valid_i | due ? WaitWidth'(Spacing - 1) : wait_q - WaitWidth'(1);
      end
    end
  end

  logic soon;  // a first beat before the interval has passed
  if (Interval == 1) begin : gen_always_ready
    assign soon = 1'b0;
  end else begin : gen_guard
    localparam int unsigned CountWidth = $clog2(Interval);
    logic [CountWidth-1:0] wait_q;  // cycles during which another start is too early
    assign soon = first_o & (wait_q != '0);
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        wait_q <= '0;
      end else if (first_o) begin
        wait_q <= CountWidth'(Interval - 1);
      end else if (wait_q != '0) begin
        wait_q <= wait_q - CountWidth'(1);
      end
    end
  end

  if (Interval == 1 && Beats == 1) begin : gen_never
    logic unused_pins;
    assign unused_pins = ^{clk_i, rst_i, broken, soon};
    assign overrun_o = 1'b0;
  end else begin : gen_tell
    logic overrun_q;
    always_ff @(posedge clk_i) begin
      overrun_q <= ~rst_i & (overrun_q | broken | soon);
    end
    assign overrun_o = overrun_q;
  end
endmodule
