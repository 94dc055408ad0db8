// Block RAM and multiplier of Lattice ECP5, as far as flow/synth lets Yosys use them. DP16KD after Lattice FPGA-TN-02204
// (ECP5 Memory Usage Guide): without output register; INITVAL_xx holds 16 words of 18 bits at a spacing of 20 bits; of a
// port narrower than 9 bits every ninth bit is unused. A true dual port is written by port A, with ADA0 and ADA1 as byte
// enables at 18 bits, and read by both; as a pseudo dual port (DATA_WIDTH_A 36, port A writes, ADA0 to ADA3 are byte
// enables) port B reads, at 36 bits the lower half leaves by DOA, narrower words by DOB. What is read while it is written
// is the old word. MULT18X18D after Lattice FPGA-TN-02205 (ECP5 sysDSP Usage Guide): the product without registers.
// Anything else stops the simulation.

module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter CSDECODE_A = "0b000",
    parameter CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter CLKAMUX = "CLKA",
    parameter CLKBMUX = "CLKB",
    parameter GSR = "ENABLED",
    parameter [319:0] INITVAL_00 = 0,
    parameter [319:0] INITVAL_01 = 0,
    parameter [319:0] INITVAL_02 = 0,
    parameter [319:0] INITVAL_03 = 0,
    parameter [319:0] INITVAL_04 = 0,
    parameter [319:0] INITVAL_05 = 0,
    parameter [319:0] INITVAL_06 = 0,
    parameter [319:0] INITVAL_07 = 0,
    parameter [319:0] INITVAL_08 = 0,
    parameter [319:0] INITVAL_09 = 0,
    parameter [319:0] INITVAL_0A = 0,
    parameter [319:0] INITVAL_0B = 0,
    parameter [319:0] INITVAL_0C = 0,
    parameter [319:0] INITVAL_0D = 0,
    parameter [319:0] INITVAL_0E = 0,
    parameter [319:0] INITVAL_0F = 0,
    parameter [319:0] INITVAL_10 = 0,
    parameter [319:0] INITVAL_11 = 0,
    parameter [319:0] INITVAL_12 = 0,
    parameter [319:0] INITVAL_13 = 0,
    parameter [319:0] INITVAL_14 = 0,
    parameter [319:0] INITVAL_15 = 0,
    parameter [319:0] INITVAL_16 = 0,
    parameter [319:0] INITVAL_17 = 0,
    parameter [319:0] INITVAL_18 = 0,
    parameter [319:0] INITVAL_19 = 0,
    parameter [319:0] INITVAL_1A = 0,
    parameter [319:0] INITVAL_1B = 0,
    parameter [319:0] INITVAL_1C = 0,
    parameter [319:0] INITVAL_1D = 0,
    parameter [319:0] INITVAL_1E = 0,
    parameter [319:0] INITVAL_1F = 0,
    parameter [319:0] INITVAL_20 = 0,
    parameter [319:0] INITVAL_21 = 0,
    parameter [319:0] INITVAL_22 = 0,
    parameter [319:0] INITVAL_23 = 0,
    parameter [319:0] INITVAL_24 = 0,
    parameter [319:0] INITVAL_25 = 0,
    parameter [319:0] INITVAL_26 = 0,
    parameter [319:0] INITVAL_27 = 0,
    parameter [319:0] INITVAL_28 = 0,
    parameter [319:0] INITVAL_29 = 0,
    parameter [319:0] INITVAL_2A = 0,
    parameter [319:0] INITVAL_2B = 0,
    parameter [319:0] INITVAL_2C = 0,
    parameter [319:0] INITVAL_2D = 0,
    parameter [319:0] INITVAL_2E = 0,
    parameter [319:0] INITVAL_2F = 0,
    parameter [319:0] INITVAL_30 = 0,
    parameter [319:0] INITVAL_31 = 0,
    parameter [319:0] INITVAL_32 = 0,
    parameter [319:0] INITVAL_33 = 0,
    parameter [319:0] INITVAL_34 = 0,
    parameter [319:0] INITVAL_35 = 0,
    parameter [319:0] INITVAL_36 = 0,
    parameter [319:0] INITVAL_37 = 0,
    parameter [319:0] INITVAL_38 = 0,
    parameter [319:0] INITVAL_39 = 0,
    parameter [319:0] INITVAL_3A = 0,
    parameter [319:0] INITVAL_3B = 0,
    parameter [319:0] INITVAL_3C = 0,
    parameter [319:0] INITVAL_3D = 0,
    parameter [319:0] INITVAL_3E = 0,
    parameter [319:0] INITVAL_3F = 0
) (
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
  localparam Pseudo = DATA_WIDTH_A == 36;
  localparam StepA = DATA_WIDTH_A >= 9 ? DATA_WIDTH_A / 9 * 8 : DATA_WIDTH_A;
  localparam StepB = DATA_WIDTH_B >= 9 ? DATA_WIDTH_B / 9 * 8 : DATA_WIDTH_B;
  localparam Lane = DATA_WIDTH_A > 9 ? 9 : DATA_WIDTH_A;
  localparam Lanes = DATA_WIDTH_A > 9 ? DATA_WIDTH_A / 9 : 1;
  wire [20479:0] spaced = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
    INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
    INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
    INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
    INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
    INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
    INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
    INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
  };
  reg [18431:0] contents;
  integer k;
  initial for (k = 0; k < 1024; k = k + 1) contents[k*18+:18] = spaced[k*20+:18];
  wire [35:0] di = {
    DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0
  };
  wire [13:0] a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [13:0] first_a = a & ~(14'(StepA - 1));
  wire [13:0] first_b = b & ~(14'(StepB - 1));
  wire [14:0] position_a = 15'(first_a[13:3]) * 15'd9 + 15'(first_a[2:0]);
  wire [14:0] position_b = 15'(first_b[13:3]) * 15'd9 + 15'(first_b[2:0]);
  reg [35:0] qa, qb;
  integer lane;
  always @(posedge CLKA)
    if (CEA) begin
      qa <= 36'(contents[position_a+:DATA_WIDTH_A]);
      for (lane = 0; lane < Lanes; lane = lane + 1)
        if (WEA && (Lanes == 1 || a[lane])) contents[position_a+15'(9*lane)+:Lane] <= di[9*lane+:Lane];
    end
  always @(posedge CLKB) if (CEB) qb <= 36'(contents[position_b+:DATA_WIDTH_B]);
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = !Pseudo ? qa[17:0] : DATA_WIDTH_B == 36 ? qb[17:0] : 18'd0;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = Pseudo && DATA_WIDTH_B == 36 ? qb[35:18] : qb[17:0];
  initial begin
    if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG") $fatal(1, "DP16KD: output registers are not modelled");
    if (CLKAMUX != "CLKA" || CLKBMUX != "CLKB") $fatal(1, "DP16KD: inverted clocks are not modelled");
    if (CSDECODE_A != "0b000" || CSDECODE_B != "0b000") $fatal(1, "DP16KD: chip selects are not modelled");
    case (DATA_WIDTH_A)
      1, 2, 4, 9, 18, 36: ;
      default: $fatal(1, "DP16KD: a width of %0d is not modelled", DATA_WIDTH_A);
    endcase
    case (DATA_WIDTH_B)
      1, 2, 4, 9, 18: ;
      36: if (!Pseudo) $fatal(1, "DP16KD: a port of 36 bits beside one of %0d is not modelled", DATA_WIDTH_A);
      default: $fatal(1, "DP16KD: a width of %0d is not modelled", DATA_WIDTH_B);
    endcase
  end
  always @(posedge CLKA)
    if (WEB || RSTA || RSTB || CSA0 || CSA1 || CSA2 || CSB0 || CSB1 || CSB2)
      $fatal(1, "DP16KD: only writing by port A and reading are modelled");
endmodule

module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE",
    parameter REG_INPUTB_CLK = "NONE",
    parameter REG_PIPELINE_CLK = "NONE",
    parameter REG_OUTPUT_CLK = "NONE",
    parameter MULT_BYPASS = "DISABLED"
) (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  wire signed [35:0] wide_a = {{18{SIGNEDA & a[17]}}, a};
  wire signed [35:0] wide_b = {{18{SIGNEDB & b[17]}}, b};
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = wide_a * wide_b;
  initial
    if (REG_INPUTA_CLK != "NONE" || REG_INPUTB_CLK != "NONE" || REG_PIPELINE_CLK != "NONE" ||
        REG_OUTPUT_CLK != "NONE" || MULT_BYPASS != "DISABLED")
      $fatal(1, "MULT18X18D: only the product without registers is modelled");
  always @* if (SOURCEA || SOURCEB) $fatal(1, "MULT18X18D: shifted operands are not modelled");
endmodule
