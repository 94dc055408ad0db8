// flow_late: hands beats on Depth cycles later.
// Latency Depth cycles, interval 1 cycle. rst_i clears valid bits.
module flow_late #(
  parameter int unsigned Width = 1,  // bits of a beat
  parameter int unsigned Depth = 1
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  if (Depth == 0) begin : gen_bad_parameters
    $error("flow_late: Depth must be at least 1");
  end

  logic [Depth-1:0] valid_q;
  logic [Depth*Width-1:0] data_q;
  if (Depth == 1) begin : gen_single
    always_ff @(posedge clk_i) begin
      valid_q <= ~rst_i & valid_i;
      data_q <= data_i;
    end
  end else begin : gen_chain
    always_ff @(posedge clk_i) begin
      valid_q <= rst_i ? '0 : {valid_q[Depth-2:0], valid_i};
      data_q <= {data_q[(Depth-1)*Width-1:0], data_i};
    end
  end
  assign valid_o = valid_q[Depth-1];
  assign data_o = data_q[(Depth-1)*Width+:Width];
endmodule
