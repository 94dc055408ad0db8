// flow_delay: repeats its input Depth cycles later; Depth 0 is a wire.
// Latency Depth cycles, interval 1 cycle. No reset: data only.
module flow_delay #(
  parameter int unsigned Width = 1,
  parameter int unsigned Depth = 1
) (
  input  logic             clk_i,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);
  if (Width == 0) begin : gen_bad_width
    $error("flow_delay: Width must be at least 1");
  end

  if (Depth == 0) begin : gen_wire
    logic unused_clk;
    assign unused_clk = clk_i;
    assign data_o = data_i;
  end else begin : gen_line
    logic [Depth*Width-1:0] line_q;
    always_ff @(posedge clk_i) begin
      line_q <= (Depth*Width)'({line_q, data_i});
    end
    assign data_o = line_q[(Depth-1)*Width +: Width];
  end
endmodule
