// Block RAM and DSP of AMD UltraScale and UltraScale+, as far as flow/synth lets Yosys use them. Block RAM after AMD
// UG573 (UltraScale Memory Resources): read-only, read by port A, the output latch alone; INIT_xx holds the data bits in
// address order, INITP_xx the parity bits, one behind every eight; at 36 (RAMB18) and 72 bits (RAMB36) both halves of
// the output show the word at port A's address. DSP48E2 after AMD UG579: the signed 27 x 18 bit product without
// registers. Anything else stops the simulation.

module RAMB18E2 #(
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
    input ADDRENA, ADDRENB, SLEEP,
    input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
    input [13:0] ADDRARDADDR, ADDRBWRADDR,
    input [15:0] DINADIN, DINBDIN,
    input [1:0] DINPADINP, DINPBDINP, WEA,
    input [3:0] WEBWE,
    output [15:0] DOUTADOUT, DOUTBDOUT,
    output [1:0] DOUTPADOUTP, DOUTPBDOUTP
);
  localparam Data = READ_WIDTH_A >= 9 ? READ_WIDTH_A / 9 * 8 : READ_WIDTH_A;
  localparam Step = Data < 1 ? 1 : Data;
  localparam Paired = READ_WIDTH_A > 18;
  wire [16383:0] data = {
    INIT_3F, INIT_3E, INIT_3D, INIT_3C, INIT_3B, INIT_3A, INIT_39, INIT_38,
    INIT_37, INIT_36, INIT_35, INIT_34, INIT_33, INIT_32, INIT_31, INIT_30,
    INIT_2F, INIT_2E, INIT_2D, INIT_2C, INIT_2B, INIT_2A, INIT_29, INIT_28,
    INIT_27, INIT_26, INIT_25, INIT_24, INIT_23, INIT_22, INIT_21, INIT_20,
    INIT_1F, INIT_1E, INIT_1D, INIT_1C, INIT_1B, INIT_1A, INIT_19, INIT_18,
    INIT_17, INIT_16, INIT_15, INIT_14, INIT_13, INIT_12, INIT_11, INIT_10,
    INIT_0F, INIT_0E, INIT_0D, INIT_0C, INIT_0B, INIT_0A, INIT_09, INIT_08,
    INIT_07, INIT_06, INIT_05, INIT_04, INIT_03, INIT_02, INIT_01, INIT_00
  };
  wire [2047:0] parity = {
    INITP_07, INITP_06, INITP_05, INITP_04, INITP_03, INITP_02, INITP_01, INITP_00
  };
  wire [13:0] first = ADDRARDADDR[13:0] & ~(14'(Step - 1));
  reg [31:0] q;
  reg [3:0] qp;
  always @(posedge CLKARDCLK)
    if (ENARDEN) begin
      q <= 32'(data[first+:Step]);
      qp <= Data >= 8 ? 4'(parity[first[13:3]+:(Step+7)/8]) : 4'd0;
    end
  assign DOUTADOUT = q[15:0];
  assign DOUTPADOUTP = qp[1:0];
  assign DOUTBDOUT = Paired ? q[31:16] : 16'd0;
  assign DOUTPBDOUTP = Paired ? qp[3:2] : 2'd0;
  initial begin
    if (DOA_REG != 0 || READ_WIDTH_B != 0 || WRITE_WIDTH_A != 0)
      $fatal(1, "RAMB18E2: only a memory that port A reads without output register is modelled");
    case (READ_WIDTH_A)
      1, 2, 4, 9, 18, 36: ;
      default: $fatal(1, "RAMB18E2: READ_WIDTH_A %0d is not modelled", READ_WIDTH_A);
    endcase
  end
  always @(posedge CLKARDCLK)
    if (RSTRAMARSTRAM || |WEA || ENBWREN || SLEEP || !ADDRENA) $fatal(1, "RAMB18E2: only reading is modelled");
endmodule

module RAMB36E2 #(
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
    input ADDRENA, ADDRENB, SLEEP,
    input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
    input [14:0] ADDRARDADDR, ADDRBWRADDR,
    input [31:0] DINADIN, DINBDIN,
    input [3:0] DINPADINP, DINPBDINP, WEA,
    input [7:0] WEBWE,
    output [31:0] DOUTADOUT, DOUTBDOUT,
    output [3:0] DOUTPADOUTP, DOUTPBDOUTP
);
  localparam Data = READ_WIDTH_A >= 9 ? READ_WIDTH_A / 9 * 8 : READ_WIDTH_A;
  localparam Step = Data < 1 ? 1 : Data;
  localparam Paired = READ_WIDTH_A > 36;
  wire [32767:0] data = {
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
  };
  wire [4095:0] parity = {
    INITP_0F, INITP_0E, INITP_0D, INITP_0C, INITP_0B, INITP_0A, INITP_09, INITP_08,
    INITP_07, INITP_06, INITP_05, INITP_04, INITP_03, INITP_02, INITP_01, INITP_00
  };
  wire [14:0] first = ADDRARDADDR[14:0] & ~(15'(Step - 1));
  reg [63:0] q;
  reg [7:0] qp;
  always @(posedge CLKARDCLK)
    if (ENARDEN) begin
      q <= 64'(data[first+:Step]);
      qp <= Data >= 8 ? 8'(parity[first[14:3]+:(Step+7)/8]) : 8'd0;
    end
  assign DOUTADOUT = q[31:0];
  assign DOUTPADOUTP = qp[3:0];
  assign DOUTBDOUT = Paired ? q[63:32] : 32'd0;
  assign DOUTPBDOUTP = Paired ? qp[7:4] : 4'd0;
  initial begin
    if (DOA_REG != 0 || READ_WIDTH_B != 0 || WRITE_WIDTH_A != 0)
      $fatal(1, "RAMB36E2: only a memory that port A reads without output register is modelled");
    case (READ_WIDTH_A)
      1, 2, 4, 9, 18, 36, 72: ;
      default: $fatal(1, "RAMB36E2: READ_WIDTH_A %0d is not modelled", READ_WIDTH_A);
    endcase
  end
  always @(posedge CLKARDCLK)
    if (RSTRAMARSTRAM || |WEA || ENBWREN || SLEEP || !ADDRENA) $fatal(1, "RAMB36E2: only reading is modelled");
endmodule

module DSP48E2 #(
    parameter ACASCREG = 1,
    parameter ADREG = 1,
    parameter ALUMODEREG = 1,
    parameter AMULTSEL = "A",
    parameter AREG = 1,
    parameter A_INPUT = "DIRECT",
    parameter BCASCREG = 1,
    parameter BMULTSEL = "B",
    parameter BREG = 1,
    parameter B_INPUT = "DIRECT",
    parameter CARRYINREG = 1,
    parameter CARRYINSELREG = 1,
    parameter CREG = 1,
    parameter DREG = 1,
    parameter INMODEREG = 1,
    parameter MREG = 1,
    parameter OPMODEREG = 1,
    parameter PREG = 1,
    parameter USE_MULT = "MULTIPLY",
    parameter USE_SIMD = "ONE48"
) (
    input [29:0] A, ACIN,
    input [17:0] B, BCIN,
    input [47:0] C, PCIN,
    input [26:0] D,
    input [3:0] ALUMODE,
    input [2:0] CARRYINSEL,
    input [4:0] INMODE,
    input [8:0] OPMODE,
    input CARRYIN,
    output [47:0] P
);
  wire signed [47:0] a = 48'($signed(A[26:0]));
  wire signed [47:0] b = 48'($signed(B));
  assign P = a * b;
  initial
    if (AREG != 0 || BREG != 0 || MREG != 0 || PREG != 0 || OPMODEREG != 0 || ALUMODEREG != 0 || INMODEREG != 0 ||
        CARRYINREG != 0 || CARRYINSELREG != 0 || AMULTSEL != "A" || BMULTSEL != "B" || A_INPUT != "DIRECT" ||
        B_INPUT != "DIRECT" || USE_MULT != "MULTIPLY" || USE_SIMD != "ONE48")
      $fatal(1, "DSP48E2: only the product without registers is modelled");
  always @*
    if (OPMODE != 9'b000000101 || ALUMODE != 0 || INMODE != 0 || CARRYIN || CARRYINSEL != 0)
      $fatal(1, "DSP48E2: only the product is modelled");
endmodule
