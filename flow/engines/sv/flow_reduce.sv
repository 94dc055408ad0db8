// flow_reduce: keeps for each of Lanes lanes the largest element, or the sum, of the Beats beats of a tensor.
// Elements have Width bits, results Held bits: enough for every sum.
// Latency 1 cycle from the last beat, interval as many cycles as the beats span. rst_i clears the count of beats.
module flow_reduce #(
  parameter int unsigned Width  = 1,
  parameter bit          Signed = 1'b0,
  parameter int unsigned Lanes  = 1,
  parameter int unsigned Beats  = 2,
  parameter int unsigned Held   = 1,
  parameter bit          Max    = 1'b0
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   valid_i,
  input  logic [Lanes*Width-1:0] data_i,
  output logic                   valid_o,
  output logic [Lanes*Held-1:0]  data_o
);
  localparam int unsigned CountWidth = $clog2(Beats);

  if (Beats < 2 || Held < Width || (Max && Held != Width)) begin : gen_bad_parameters
    $error("flow_reduce: two beats or more, and results that hold an element");
  end

  logic [CountWidth-1:0] came_q;
  logic is_first_q, is_last;
  assign is_last = came_q == CountWidth'(Beats - 1);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      came_q <= '0;
      is_first_q <= 1'b1;
      valid_o <= 1'b0;
    end else begin
      valid_o <= valid_i & is_last;
      if (valid_i) begin
        came_q <= is_last ? '0 : came_q + CountWidth'(1);
        is_first_q <= is_last;
      end
    end
  end

  for (genvar k = 0; k < int'(Lanes); k++) begin : gen_lanes
    logic [Width-1:0] element;
    logic [Held-1:0] held_q, wide;
    assign element = data_i[k*int'(Width)+:Width];
    if (Signed) begin : gen_signed
      assign wide = Held'($signed(element));
    end else begin : gen_unsigned
      assign wide = Held'(element);
    end
    if (Max) begin : gen_max
      logic larger;
      if (Signed) begin : gen_signed
        assign larger = $signed(wide) > $signed(held_q);
      end else begin : gen_unsigned
        assign larger = wide > held_q;
      end
      always_ff @(posedge clk_i) begin
        if (valid_i) begin
          held_q <= is_first_q | larger ? wide : held_q;
        end
      end
    end else begin : gen_sum
      always_ff @(posedge clk_i) begin
        if (valid_i) begin
          held_q <= (is_first_q ? '0 : held_q) + wide;
        end
      end
    end
    assign data_o[k*int'(Held)+:Held] = held_q;
  end
endmodule
