// Block RAM of AMD 7 series, as far as flow/synth lets Yosys use it: without output registers and resets. After AMD UG473
// (7 Series Memory Resources): INIT_xx holds the data bits in address order, INITP_xx the parity bits, one behind every
// eight; a port of 9 bits and more takes and delivers data and parity apart, each byte with a write enable of its own; a
// simple dual port (RAMB18: 36, RAMB36: 72 bits) reads both halves at port A's address and writes both at port B's. What
// is read while it is written is the old word (READ_FIRST). Anything else stops the simulation.

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

module RAMB18E1 #(
    parameter DOA_REG = 0,
    parameter DOB_REG = 0,
    parameter READ_WIDTH_A = 0,
    parameter READ_WIDTH_B = 0,
    parameter WRITE_WIDTH_A = 0,
    parameter WRITE_WIDTH_B = 0,
    parameter WRITE_MODE_A = "",
    parameter WRITE_MODE_B = "",
    parameter INIT_A = 0,
    parameter INIT_B = 0,
    parameter SRVAL_A = 0,
    parameter SRVAL_B = 0,
    parameter RAM_MODE = "TDP",
    parameter [255:0] INIT_00 = 0,
    parameter [255:0] INIT_01 = 0,
    parameter [255:0] INIT_02 = 0,
    parameter [255:0] INIT_03 = 0,
    parameter [255:0] INIT_04 = 0,
    parameter [255:0] INIT_05 = 0,
    parameter [255:0] INIT_06 = 0,
    parameter [255:0] INIT_07 = 0,
    parameter [255:0] INIT_08 = 0,
    parameter [255:0] INIT_09 = 0,
    parameter [255:0] INIT_0A = 0,
    parameter [255:0] INIT_0B = 0,
    parameter [255:0] INIT_0C = 0,
    parameter [255:0] INIT_0D = 0,
    parameter [255:0] INIT_0E = 0,
    parameter [255:0] INIT_0F = 0,
    parameter [255:0] INIT_10 = 0,
    parameter [255:0] INIT_11 = 0,
    parameter [255:0] INIT_12 = 0,
    parameter [255:0] INIT_13 = 0,
    parameter [255:0] INIT_14 = 0,
    parameter [255:0] INIT_15 = 0,
    parameter [255:0] INIT_16 = 0,
    parameter [255:0] INIT_17 = 0,
    parameter [255:0] INIT_18 = 0,
    parameter [255:0] INIT_19 = 0,
    parameter [255:0] INIT_1A = 0,
    parameter [255:0] INIT_1B = 0,
    parameter [255:0] INIT_1C = 0,
    parameter [255:0] INIT_1D = 0,
    parameter [255:0] INIT_1E = 0,
    parameter [255:0] INIT_1F = 0,
    parameter [255:0] INIT_20 = 0,
    parameter [255:0] INIT_21 = 0,
    parameter [255:0] INIT_22 = 0,
    parameter [255:0] INIT_23 = 0,
    parameter [255:0] INIT_24 = 0,
    parameter [255:0] INIT_25 = 0,
    parameter [255:0] INIT_26 = 0,
    parameter [255:0] INIT_27 = 0,
    parameter [255:0] INIT_28 = 0,
    parameter [255:0] INIT_29 = 0,
    parameter [255:0] INIT_2A = 0,
    parameter [255:0] INIT_2B = 0,
    parameter [255:0] INIT_2C = 0,
    parameter [255:0] INIT_2D = 0,
    parameter [255:0] INIT_2E = 0,
    parameter [255:0] INIT_2F = 0,
    parameter [255:0] INIT_30 = 0,
    parameter [255:0] INIT_31 = 0,
    parameter [255:0] INIT_32 = 0,
    parameter [255:0] INIT_33 = 0,
    parameter [255:0] INIT_34 = 0,
    parameter [255:0] INIT_35 = 0,
    parameter [255:0] INIT_36 = 0,
    parameter [255:0] INIT_37 = 0,
    parameter [255:0] INIT_38 = 0,
    parameter [255:0] INIT_39 = 0,
    parameter [255:0] INIT_3A = 0,
    parameter [255:0] INIT_3B = 0,
    parameter [255:0] INIT_3C = 0,
    parameter [255:0] INIT_3D = 0,
    parameter [255:0] INIT_3E = 0,
    parameter [255:0] INIT_3F = 0,
    parameter [255:0] INITP_00 = 0,
    parameter [255:0] INITP_01 = 0,
    parameter [255:0] INITP_02 = 0,
    parameter [255:0] INITP_03 = 0,
    parameter [255:0] INITP_04 = 0,
    parameter [255:0] INITP_05 = 0,
    parameter [255:0] INITP_06 = 0,
    parameter [255:0] INITP_07 = 0
) (
    input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
    input [13:0] ADDRARDADDR, ADDRBWRADDR,
    input [15:0] DIADI, DIBDI,
    input [1:0] DIPADIP, DIPBDIP, WEA,
    input [3:0] WEBWE,
    output [15:0] DOADO, DOBDO,
    output [1:0] DOPADOP, DOPBDOP
);
  localparam Paired = READ_WIDTH_A > 18 || WRITE_WIDTH_B > 18;
  wire [63:0] qa, qb;
  wire [7:0] pa, pb;
  fpgaflow_block_ram #(
      .Address(14),
      .ReadA(READ_WIDTH_A),
      .ReadB(READ_WIDTH_B),
      .WriteA(WRITE_WIDTH_A),
      .WriteB(WRITE_WIDTH_B),
      .Data({
          INIT_3F, INIT_3E, INIT_3D, INIT_3C, INIT_3B, INIT_3A, INIT_39, INIT_38,
          INIT_37, INIT_36, INIT_35, INIT_34, INIT_33, INIT_32, INIT_31, INIT_30,
          INIT_2F, INIT_2E, INIT_2D, INIT_2C, INIT_2B, INIT_2A, INIT_29, INIT_28,
          INIT_27, INIT_26, INIT_25, INIT_24, INIT_23, INIT_22, INIT_21, INIT_20,
          INIT_1F, INIT_1E, INIT_1D, INIT_1C, INIT_1B, INIT_1A, INIT_19, INIT_18,
          INIT_17, INIT_16, INIT_15, INIT_14, INIT_13, INIT_12, INIT_11, INIT_10,
          INIT_0F, INIT_0E, INIT_0D, INIT_0C, INIT_0B, INIT_0A, INIT_09, INIT_08,
          INIT_07, INIT_06, INIT_05, INIT_04, INIT_03, INIT_02, INIT_01, INIT_00
      }),
      .Parity({
          INITP_07, INITP_06, INITP_05, INITP_04, INITP_03, INITP_02, INITP_01, INITP_00
      })
  ) memory (
      .clk_a(CLKARDCLK),
      .clk_b(CLKBWRCLK),
      .en_a(ENARDEN),
      .en_b(ENBWREN),
      .address_a(ADDRARDADDR[13:0]),
      .address_b(ADDRBWRADDR[13:0]),
      .we_a(8'(WEA)),
      .we_b(8'(WEBWE)),
      .in_a(64'(DIADI)),
      .in_b(Paired ? 64'({DIBDI, DIADI}) : 64'(DIBDI)),
      .parity_in_a(8'(DIPADIP)),
      .parity_in_b(Paired ? 8'({DIPBDIP, DIPADIP}) : 8'(DIPBDIP)),
      .out_a(qa),
      .out_b(qb),
      .parity_out_a(pa),
      .parity_out_b(pb)
  );
  assign DOADO = qa[15:0];
  assign DOPADOP = pa[1:0];
  assign DOBDO = Paired ? qa[31:16] : qb[15:0];
  assign DOPBDOP = Paired ? pa[3:2] : pb[1:0];
  initial begin
    if (DOA_REG != 0 || DOB_REG != 0) $fatal(1, "RAMB18E1: output registers are not modelled");
    if (Paired && (READ_WIDTH_B != 0 || WRITE_WIDTH_A != 0))
      $fatal(1, "RAMB18E1: of a simple dual port only reading by port A and writing by port B are modelled");
    if (RAM_MODE != (Paired ? "SDP" : "TDP")) $fatal(1, "RAMB18E1: RAM_MODE %s does not suit its widths", RAM_MODE);
  end
  always @(posedge CLKARDCLK)
    if (RSTRAMARSTRAM || RSTRAMB) $fatal(1, "RAMB18E1: resets are not modelled");
endmodule

module RAMB36E1 #(
    parameter DOA_REG = 0,
    parameter DOB_REG = 0,
    parameter READ_WIDTH_A = 0,
    parameter READ_WIDTH_B = 0,
    parameter WRITE_WIDTH_A = 0,
    parameter WRITE_WIDTH_B = 0,
    parameter WRITE_MODE_A = "",
    parameter WRITE_MODE_B = "",
    parameter INIT_A = 0,
    parameter INIT_B = 0,
    parameter SRVAL_A = 0,
    parameter SRVAL_B = 0,
    parameter RAM_MODE = "TDP",
    parameter RAM_EXTENSION_A = "NONE",
    parameter RAM_EXTENSION_B = "NONE",
    parameter [255:0] INIT_00 = 0,
    parameter [255:0] INIT_01 = 0,
    parameter [255:0] INIT_02 = 0,
    parameter [255:0] INIT_03 = 0,
    parameter [255:0] INIT_04 = 0,
    parameter [255:0] INIT_05 = 0,
    parameter [255:0] INIT_06 = 0,
    parameter [255:0] INIT_07 = 0,
    parameter [255:0] INIT_08 = 0,
    parameter [255:0] INIT_09 = 0,
    parameter [255:0] INIT_0A = 0,
    parameter [255:0] INIT_0B = 0,
    parameter [255:0] INIT_0C = 0,
    parameter [255:0] INIT_0D = 0,
    parameter [255:0] INIT_0E = 0,
    parameter [255:0] INIT_0F = 0,
    parameter [255:0] INIT_10 = 0,
    parameter [255:0] INIT_11 = 0,
    parameter [255:0] INIT_12 = 0,
    parameter [255:0] INIT_13 = 0,
    parameter [255:0] INIT_14 = 0,
    parameter [255:0] INIT_15 = 0,
    parameter [255:0] INIT_16 = 0,
    parameter [255:0] INIT_17 = 0,
    parameter [255:0] INIT_18 = 0,
    parameter [255:0] INIT_19 = 0,
    parameter [255:0] INIT_1A = 0,
    parameter [255:0] INIT_1B = 0,
    parameter [255:0] INIT_1C = 0,
    parameter [255:0] INIT_1D = 0,
    parameter [255:0] INIT_1E = 0,
    parameter [255:0] INIT_1F = 0,
    parameter [255:0] INIT_20 = 0,
    parameter [255:0] INIT_21 = 0,
    parameter [255:0] INIT_22 = 0,
    parameter [255:0] INIT_23 = 0,
    parameter [255:0] INIT_24 = 0,
    parameter [255:0] INIT_25 = 0,
    parameter [255:0] INIT_26 = 0,
    parameter [255:0] INIT_27 = 0,
    parameter [255:0] INIT_28 = 0,
    parameter [255:0] INIT_29 = 0,
    parameter [255:0] INIT_2A = 0,
    parameter [255:0] INIT_2B = 0,
    parameter [255:0] INIT_2C = 0,
    parameter [255:0] INIT_2D = 0,
    parameter [255:0] INIT_2E = 0,
    parameter [255:0] INIT_2F = 0,
    parameter [255:0] INIT_30 = 0,
    parameter [255:0] INIT_31 = 0,
    parameter [255:0] INIT_32 = 0,
    parameter [255:0] INIT_33 = 0,
    parameter [255:0] INIT_34 = 0,
    parameter [255:0] INIT_35 = 0,
    parameter [255:0] INIT_36 = 0,
    parameter [255:0] INIT_37 = 0,
    parameter [255:0] INIT_38 = 0,
    parameter [255:0] INIT_39 = 0,
    parameter [255:0] INIT_3A = 0,
    parameter [255:0] INIT_3B = 0,
    parameter [255:0] INIT_3C = 0,
    parameter [255:0] INIT_3D = 0,
    parameter [255:0] INIT_3E = 0,
    parameter [255:0] INIT_3F = 0,
    parameter [255:0] INIT_40 = 0,
    parameter [255:0] INIT_41 = 0,
    parameter [255:0] INIT_42 = 0,
    parameter [255:0] INIT_43 = 0,
    parameter [255:0] INIT_44 = 0,
    parameter [255:0] INIT_45 = 0,
    parameter [255:0] INIT_46 = 0,
    parameter [255:0] INIT_47 = 0,
    parameter [255:0] INIT_48 = 0,
    parameter [255:0] INIT_49 = 0,
    parameter [255:0] INIT_4A = 0,
    parameter [255:0] INIT_4B = 0,
    parameter [255:0] INIT_4C = 0,
    parameter [255:0] INIT_4D = 0,
    parameter [255:0] INIT_4E = 0,
    parameter [255:0] INIT_4F = 0,
    parameter [255:0] INIT_50 = 0,
    parameter [255:0] INIT_51 = 0,
    parameter [255:0] INIT_52 = 0,
    parameter [255:0] INIT_53 = 0,
    parameter [255:0] INIT_54 = 0,
    parameter [255:0] INIT_55 = 0,
    parameter [255:0] INIT_56 = 0,
    parameter [255:0] INIT_57 = 0,
    parameter [255:0] INIT_58 = 0,
    parameter [255:0] INIT_59 = 0,
    parameter [255:0] INIT_5A = 0,
    parameter [255:0] INIT_5B = 0,
    parameter [255:0] INIT_5C = 0,
    parameter [255:0] INIT_5D = 0,
    parameter [255:0] INIT_5E = 0,
    parameter [255:0] INIT_5F = 0,
    parameter [255:0] INIT_60 = 0,
    parameter [255:0] INIT_61 = 0,
    parameter [255:0] INIT_62 = 0,
    parameter [255:0] INIT_63 = 0,
    parameter [255:0] INIT_64 = 0,
    parameter [255:0] INIT_65 = 0,
    parameter [255:0] INIT_66 = 0,
    parameter [255:0] INIT_67 = 0,
    parameter [255:0] INIT_68 = 0,
    parameter [255:0] INIT_69 = 0,
    parameter [255:0] INIT_6A = 0,
    parameter [255:0] INIT_6B = 0,
    parameter [255:0] INIT_6C = 0,
    parameter [255:0] INIT_6D = 0,
    parameter [255:0] INIT_6E = 0,
    parameter [255:0] INIT_6F = 0,
    parameter [255:0] INIT_70 = 0,
    parameter [255:0] INIT_71 = 0,
    parameter [255:0] INIT_72 = 0,
    parameter [255:0] INIT_73 = 0,
    parameter [255:0] INIT_74 = 0,
    parameter [255:0] INIT_75 = 0,
    parameter [255:0] INIT_76 = 0,
    parameter [255:0] INIT_77 = 0,
    parameter [255:0] INIT_78 = 0,
    parameter [255:0] INIT_79 = 0,
    parameter [255:0] INIT_7A = 0,
    parameter [255:0] INIT_7B = 0,
    parameter [255:0] INIT_7C = 0,
    parameter [255:0] INIT_7D = 0,
    parameter [255:0] INIT_7E = 0,
    parameter [255:0] INIT_7F = 0,
    parameter [255:0] INITP_00 = 0,
    parameter [255:0] INITP_01 = 0,
    parameter [255:0] INITP_02 = 0,
    parameter [255:0] INITP_03 = 0,
    parameter [255:0] INITP_04 = 0,
    parameter [255:0] INITP_05 = 0,
    parameter [255:0] INITP_06 = 0,
    parameter [255:0] INITP_07 = 0,
    parameter [255:0] INITP_08 = 0,
    parameter [255:0] INITP_09 = 0,
    parameter [255:0] INITP_0A = 0,
    parameter [255:0] INITP_0B = 0,
    parameter [255:0] INITP_0C = 0,
    parameter [255:0] INITP_0D = 0,
    parameter [255:0] INITP_0E = 0,
    parameter [255:0] INITP_0F = 0
) (
    input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
    input [15:0] ADDRARDADDR, ADDRBWRADDR,
    input [31:0] DIADI, DIBDI,
    input [3:0] DIPADIP, DIPBDIP, WEA,
    input [7:0] WEBWE,
    output [31:0] DOADO, DOBDO,
    output [3:0] DOPADOP, DOPBDOP
);
  localparam Paired = READ_WIDTH_A > 36 || WRITE_WIDTH_B > 36;
  wire [63:0] qa, qb;
  wire [7:0] pa, pb;
  fpgaflow_block_ram #(
      .Address(15),
      .ReadA(READ_WIDTH_A),
      .ReadB(READ_WIDTH_B),
      .WriteA(WRITE_WIDTH_A),
      .WriteB(WRITE_WIDTH_B),
      .Data({
          INIT_7F, INIT_7E, INIT_7D, INIT_7C, INIT_7B, INIT_7A, INIT_79, INIT_78,
          INIT_77, INIT_76, INIT_75, INIT_74, INIT_73, INIT_72, INIT_71, INIT_70,
          INIT_6F, INIT_6E, INIT_6D, INIT_6C, INIT_6B, INIT_6A, INIT_69, INIT_68,
          INIT_67, INIT_66, INIT_65, INIT_64, INIT_63, INIT_62, INIT_61, INIT_60,
          INIT_5F, INIT_5E, INIT_5D, INIT_5C, INIT_5B, INIT_5A, INIT_59, INIT_58,
          INIT_57, INIT_56, INIT_55, INIT_54, INIT_53, INIT_52, INIT_51, INIT_50,
          INIT_4F, INIT_4E, INIT_4D, INIT_4C, INIT_4B, INIT_4A, INIT_49, INIT_48,
          INIT_47, INIT_46, INIT_45, INIT_44, INIT_43, INIT_42, INIT_41, INIT_40,
          INIT_3F, INIT_3E, INIT_3D, INIT_3C, INIT_3B, INIT_3A, INIT_39, INIT_38,
          INIT_37, INIT_36, INIT_35, INIT_34, INIT_33, INIT_32, INIT_31, INIT_30,
          INIT_2F, INIT_2E, INIT_2D, INIT_2C, INIT_2B, INIT_2A, INIT_29, INIT_28,
          INIT_27, INIT_26, INIT_25, INIT_24, INIT_23, INIT_22, INIT_21, INIT_20,
          INIT_1F, INIT_1E, INIT_1D, INIT_1C, INIT_1B, INIT_1A, INIT_19, INIT_18,
          INIT_17, INIT_16, INIT_15, INIT_14, INIT_13, INIT_12, INIT_11, INIT_10,
          INIT_0F, INIT_0E, INIT_0D, INIT_0C, INIT_0B, INIT_0A, INIT_09, INIT_08,
          INIT_07, INIT_06, INIT_05, INIT_04, INIT_03, INIT_02, INIT_01, INIT_00
      }),
      .Parity({
          INITP_0F, INITP_0E, INITP_0D, INITP_0C, INITP_0B, INITP_0A, INITP_09, INITP_08,
          INITP_07, INITP_06, INITP_05, INITP_04, INITP_03, INITP_02, INITP_01, INITP_00
      })
  ) memory (
      .clk_a(CLKARDCLK),
      .clk_b(CLKBWRCLK),
      .en_a(ENARDEN),
      .en_b(ENBWREN),
      .address_a(ADDRARDADDR[14:0]),
      .address_b(ADDRBWRADDR[14:0]),
      .we_a(8'(WEA)),
      .we_b(8'(WEBWE)),
      .in_a(64'(DIADI)),
      .in_b(Paired ? 64'({DIBDI, DIADI}) : 64'(DIBDI)),
      .parity_in_a(8'(DIPADIP)),
      .parity_in_b(Paired ? 8'({DIPBDIP, DIPADIP}) : 8'(DIPBDIP)),
      .out_a(qa),
      .out_b(qb),
      .parity_out_a(pa),
      .parity_out_b(pb)
  );
  assign DOADO = qa[31:0];
  assign DOPADOP = pa[3:0];
  assign DOBDO = Paired ? qa[63:32] : qb[31:0];
  assign DOPBDOP = Paired ? pa[7:4] : pb[3:0];
  initial begin
    if (DOA_REG != 0 || DOB_REG != 0) $fatal(1, "RAMB36E1: output registers are not modelled");
    if (Paired && (READ_WIDTH_B != 0 || WRITE_WIDTH_A != 0))
      $fatal(1, "RAMB36E1: of a simple dual port only reading by port A and writing by port B are modelled");
    if (RAM_MODE != (Paired ? "SDP" : "TDP")) $fatal(1, "RAMB36E1: RAM_MODE %s does not suit its widths", RAM_MODE);
    if (RAM_EXTENSION_A != "NONE" || RAM_EXTENSION_B != "NONE") $fatal(1, "RAMB36E1: cascades are not modelled");
  end
  always @(posedge CLKARDCLK)
    if (RSTRAMARSTRAM || RSTRAMB) $fatal(1, "RAMB36E1: resets are not modelled");
endmodule
