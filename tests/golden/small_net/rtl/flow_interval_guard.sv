// flow_interval_guard: tells when an inference has started before Interval cycles had passed since the last start.
// overrun_o rises one cycle after that start and stays until reset: from then on results may be mixed up.
// Interval 1 cannot be missed: overrun_o is constantly 0. rst_i clears all registers.
module flow_interval_guard #(
  parameter int unsigned Interval = 1
) (
  input  logic clk_i,
  input  logic rst_i,
  input  logic start_i,
  output logic overrun_o
);
  if (Interval == 0) begin : gen_bad_interval
    $error("flow_interval_guard: Interval must be at least 1");
  end

  if (Interval <= 1) begin : gen_always_ready
    logic unused_pins;
    assign unused_pins = clk_i ^ rst_i ^ start_i;
    assign overrun_o = 1'b0;
  end else begin : gen_guard
    localparam int unsigned CountWidth = $clog2(Interval);
    logic [CountWidth-1:0] wait_q;  // cycles during which another start is too early
    logic overrun_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        wait_q <= '0;
        overrun_q <= 1'b0;
      end else begin
        if (start_i) begin
          wait_q <= CountWidth'(Interval - 1);
        end else if (wait_q != '0) begin
          wait_q <= wait_q - CountWidth'(1);
        end
        overrun_q <= overrun_q | (start_i & (wait_q != '0));
      end
    end
    assign overrun_o = overrun_q;
  end
endmodule
