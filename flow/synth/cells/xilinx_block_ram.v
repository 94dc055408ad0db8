// The words of a block RAM of AMD 7 series, UltraScale and UltraScale+ (UG473, UG573), without output registers and resets:
// series7.v and ultrascale.v give it the pins and contents of their cells. What is read while it is written is the old
// word.

module fpgaflow_block_ram #(
    parameter Address = 14,
    parameter ReadA = 0,
    parameter ReadB = 0,
    parameter WriteA = 0,
    parameter WriteB = 0,
    parameter [(1<<Address)-1:0] Data = 0,
    parameter [(1<<(Address-3))-1:0] Parity = 0
) (
    input clk_a, clk_b, en_a, en_b,
    input [Address-1:0] address_a, address_b,
    input [7:0] we_a, we_b, parity_in_a, parity_in_b,
    input [63:0] in_a, in_b,
    output reg [63:0] out_a, out_b,
    output reg [7:0] parity_out_a, parity_out_b
);
  reg [(1<<Address)-1:0] data = Data;
  reg [(1<<(Address-3))-1:0] parity = Parity;
  localparam FromA = ReadA >= 9 ? ReadA / 9 * 8 : ReadA;
  localparam FromB = ReadB >= 9 ? ReadB / 9 * 8 : ReadB;
  localparam IntoA = WriteA >= 9 ? WriteA / 9 * 8 : WriteA;
  localparam IntoB = WriteB >= 9 ? WriteB / 9 * 8 : WriteB;
  generate
    if (ReadA > 0) begin : gen_read_a
      wire [Address-1:0] first = address_a & ~(Address'(FromA - 1));
      always @(posedge clk_a)
        if (en_a) begin
          out_a <= 64'(data[first+:FromA]);
          parity_out_a <= ReadA >= 9 ? 8'(parity[first[Address-1:3]+:(FromA+7)/8]) : 8'd0;
        end
    end
    if (ReadB > 0) begin : gen_read_b
      wire [Address-1:0] first = address_b & ~(Address'(FromB - 1));
      always @(posedge clk_b)
        if (en_b) begin
          out_b <= 64'(data[first+:FromB]);
          parity_out_b <= ReadB >= 9 ? 8'(parity[first[Address-1:3]+:(FromB+7)/8]) : 8'd0;
        end
    end
    if (WriteA > 0) begin : gen_write_a
      wire [Address-1:0] first = address_a & ~(Address'(IntoA - 1));
      integer k;
      always @(posedge clk_a)
        for (k = 0; k < (IntoA + 7) / 8; k = k + 1)
          if (en_a && we_a[k]) begin
            data[first+Address'(8*k)+:(IntoA < 8 ? IntoA : 8)] <= in_a[8*k+:(IntoA < 8 ? IntoA : 8)];
            if (WriteA >= 9) parity[first[Address-1:3]+(Address-3)'(k)] <= parity_in_a[k];
          end
    end
    if (WriteB > 0) begin : gen_write_b
      wire [Address-1:0] first = address_b & ~(Address'(IntoB - 1));
      integer k;
      always @(posedge clk_b)
        for (k = 0; k < (IntoB + 7) / 8; k = k + 1)
          if (en_b && we_b[k]) begin
            data[first+Address'(8*k)+:(IntoB < 8 ? IntoB : 8)] <= in_b[8*k+:(IntoB < 8 ? IntoB : 8)];
            if (WriteB >= 9) parity[first[Address-1:3]+(Address-3)'(k)] <= parity_in_b[k];
          end
    end
  endgenerate
endmodule
