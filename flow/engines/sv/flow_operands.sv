// flow_operands: holds a beat and shows its groups of Width bits one after the other, the lowest first.
// In the cycle after load_i it shows group 0 of data_i, after each rotate_i the next one; after the last, group 0 again.
// Latency 1 cycle from data_i. No reset: data only.
module flow_operands #(
  parameter int unsigned Width = 1,
  parameter int unsigned Groups = 1
) (
  input  logic                    clk_i,
  input  logic                    load_i,
  input  logic                    rotate_i,
  input  logic [Groups*Width-1:0] data_i,
  output logic [Width-1:0]        data_o
);
  logic [Groups*Width-1:0] ring_q;
  assign data_o = ring_q[Width-1:0];

  if (Groups == 1) begin : gen_hold
    logic unused_rotate;
    assign unused_rotate = rotate_i;
    always_ff @(posedge clk_i) begin
      if (load_i) begin
        ring_q <= data_i;
      end
    end
  end else begin : gen_ring
    always_ff @(posedge clk_i) begin
      if (load_i) begin
        ring_q <= data_i;
      end else if (rotate_i) begin
        ring_q <= {ring_q[Width-1:0], ring_q[Groups*Width-1:Width]};
      end
    end
  end
endmodule
