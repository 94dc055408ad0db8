// Block RAM and multipliers of Gowin, as far as flow/synth lets Yosys use them. SP and SPX9 after Gowin UG285 (BSRAM User
// Guide): read-only, bypass mode; INIT_RAM_xx holds the bits in address order, 256 each (SP) or 288 with every ninth bit
// as parity (SPX9). MULT9X9 and MULT18X18 after Gowin UG287 (DSP User Guide): the product without registers. Anything
// else stops the simulation.

module SP #(
    parameter READ_MODE = 0,
    parameter WRITE_MODE = 0,
    parameter BIT_WIDTH = 32,
    parameter BLK_SEL = 0,
    parameter RESET_MODE = "SYNC",
    parameter [255:0] INIT_RAM_00 = 0,
    parameter [255:0] INIT_RAM_01 = 0,
    parameter [255:0] INIT_RAM_02 = 0,
    parameter [255:0] INIT_RAM_03 = 0,
    parameter [255:0] INIT_RAM_04 = 0,
    parameter [255:0] INIT_RAM_05 = 0,
    parameter [255:0] INIT_RAM_06 = 0,
    parameter [255:0] INIT_RAM_07 = 0,
    parameter [255:0] INIT_RAM_08 = 0,
    parameter [255:0] INIT_RAM_09 = 0,
    parameter [255:0] INIT_RAM_0A = 0,
    parameter [255:0] INIT_RAM_0B = 0,
    parameter [255:0] INIT_RAM_0C = 0,
    parameter [255:0] INIT_RAM_0D = 0,
    parameter [255:0] INIT_RAM_0E = 0,
    parameter [255:0] INIT_RAM_0F = 0,
    parameter [255:0] INIT_RAM_10 = 0,
    parameter [255:0] INIT_RAM_11 = 0,
    parameter [255:0] INIT_RAM_12 = 0,
    parameter [255:0] INIT_RAM_13 = 0,
    parameter [255:0] INIT_RAM_14 = 0,
    parameter [255:0] INIT_RAM_15 = 0,
    parameter [255:0] INIT_RAM_16 = 0,
    parameter [255:0] INIT_RAM_17 = 0,
    parameter [255:0] INIT_RAM_18 = 0,
    parameter [255:0] INIT_RAM_19 = 0,
    parameter [255:0] INIT_RAM_1A = 0,
    parameter [255:0] INIT_RAM_1B = 0,
    parameter [255:0] INIT_RAM_1C = 0,
    parameter [255:0] INIT_RAM_1D = 0,
    parameter [255:0] INIT_RAM_1E = 0,
    parameter [255:0] INIT_RAM_1F = 0,
    parameter [255:0] INIT_RAM_20 = 0,
    parameter [255:0] INIT_RAM_21 = 0,
    parameter [255:0] INIT_RAM_22 = 0,
    parameter [255:0] INIT_RAM_23 = 0,
    parameter [255:0] INIT_RAM_24 = 0,
    parameter [255:0] INIT_RAM_25 = 0,
    parameter [255:0] INIT_RAM_26 = 0,
    parameter [255:0] INIT_RAM_27 = 0,
    parameter [255:0] INIT_RAM_28 = 0,
    parameter [255:0] INIT_RAM_29 = 0,
    parameter [255:0] INIT_RAM_2A = 0,
    parameter [255:0] INIT_RAM_2B = 0,
    parameter [255:0] INIT_RAM_2C = 0,
    parameter [255:0] INIT_RAM_2D = 0,
    parameter [255:0] INIT_RAM_2E = 0,
    parameter [255:0] INIT_RAM_2F = 0,
    parameter [255:0] INIT_RAM_30 = 0,
    parameter [255:0] INIT_RAM_31 = 0,
    parameter [255:0] INIT_RAM_32 = 0,
    parameter [255:0] INIT_RAM_33 = 0,
    parameter [255:0] INIT_RAM_34 = 0,
    parameter [255:0] INIT_RAM_35 = 0,
    parameter [255:0] INIT_RAM_36 = 0,
    parameter [255:0] INIT_RAM_37 = 0,
    parameter [255:0] INIT_RAM_38 = 0,
    parameter [255:0] INIT_RAM_39 = 0,
    parameter [255:0] INIT_RAM_3A = 0,
    parameter [255:0] INIT_RAM_3B = 0,
    parameter [255:0] INIT_RAM_3C = 0,
    parameter [255:0] INIT_RAM_3D = 0,
    parameter [255:0] INIT_RAM_3E = 0,
    parameter [255:0] INIT_RAM_3F = 0
) (
    output [31:0] DO,
    input [31:0] DI,
    input [2:0] BLKSEL,
    input [13:0] AD,
    input WRE, CLK, CE, OCE, RESET
);
  localparam Step = BIT_WIDTH;
  wire [16383:0] contents = {
    INIT_RAM_3F, INIT_RAM_3E, INIT_RAM_3D, INIT_RAM_3C, INIT_RAM_3B, INIT_RAM_3A, INIT_RAM_39, INIT_RAM_38,
    INIT_RAM_37, INIT_RAM_36, INIT_RAM_35, INIT_RAM_34, INIT_RAM_33, INIT_RAM_32, INIT_RAM_31, INIT_RAM_30,
    INIT_RAM_2F, INIT_RAM_2E, INIT_RAM_2D, INIT_RAM_2C, INIT_RAM_2B, INIT_RAM_2A, INIT_RAM_29, INIT_RAM_28,
    INIT_RAM_27, INIT_RAM_26, INIT_RAM_25, INIT_RAM_24, INIT_RAM_23, INIT_RAM_22, INIT_RAM_21, INIT_RAM_20,
    INIT_RAM_1F, INIT_RAM_1E, INIT_RAM_1D, INIT_RAM_1C, INIT_RAM_1B, INIT_RAM_1A, INIT_RAM_19, INIT_RAM_18,
    INIT_RAM_17, INIT_RAM_16, INIT_RAM_15, INIT_RAM_14, INIT_RAM_13, INIT_RAM_12, INIT_RAM_11, INIT_RAM_10,
    INIT_RAM_0F, INIT_RAM_0E, INIT_RAM_0D, INIT_RAM_0C, INIT_RAM_0B, INIT_RAM_0A, INIT_RAM_09, INIT_RAM_08,
    INIT_RAM_07, INIT_RAM_06, INIT_RAM_05, INIT_RAM_04, INIT_RAM_03, INIT_RAM_02, INIT_RAM_01, INIT_RAM_00
  };
  wire [13:0] first = AD & ~(14'(Step - 1));
  wire [13:0] position = first;
  reg [31:0] q;
  always @(posedge CLK) if (CE) q <= 32'(contents[position+:BIT_WIDTH]);
  assign DO = q;
  initial begin
    if (READ_MODE != 0) $fatal(1, "SP: the output register is not modelled");
    case (BIT_WIDTH)
      1, 2, 4, 8, 16, 32: ;
      default: $fatal(1, "SP: BIT_WIDTH %0d is not modelled", BIT_WIDTH);
    endcase
  end
  always @(posedge CLK)
    if (WRE || RESET || BLKSEL != BLK_SEL) $fatal(1, "SP: only reading is modelled");
endmodule

module SPX9 #(
    parameter READ_MODE = 0,
    parameter WRITE_MODE = 0,
    parameter BIT_WIDTH = 36,
    parameter BLK_SEL = 0,
    parameter RESET_MODE = "SYNC",
    parameter [287:0] INIT_RAM_00 = 0,
    parameter [287:0] INIT_RAM_01 = 0,
    parameter [287:0] INIT_RAM_02 = 0,
    parameter [287:0] INIT_RAM_03 = 0,
    parameter [287:0] INIT_RAM_04 = 0,
    parameter [287:0] INIT_RAM_05 = 0,
    parameter [287:0] INIT_RAM_06 = 0,
    parameter [287:0] INIT_RAM_07 = 0,
    parameter [287:0] INIT_RAM_08 = 0,
    parameter [287:0] INIT_RAM_09 = 0,
    parameter [287:0] INIT_RAM_0A = 0,
    parameter [287:0] INIT_RAM_0B = 0,
    parameter [287:0] INIT_RAM_0C = 0,
    parameter [287:0] INIT_RAM_0D = 0,
    parameter [287:0] INIT_RAM_0E = 0,
    parameter [287:0] INIT_RAM_0F = 0,
    parameter [287:0] INIT_RAM_10 = 0,
    parameter [287:0] INIT_RAM_11 = 0,
    parameter [287:0] INIT_RAM_12 = 0,
    parameter [287:0] INIT_RAM_13 = 0,
    parameter [287:0] INIT_RAM_14 = 0,
    parameter [287:0] INIT_RAM_15 = 0,
    parameter [287:0] INIT_RAM_16 = 0,
    parameter [287:0] INIT_RAM_17 = 0,
    parameter [287:0] INIT_RAM_18 = 0,
    parameter [287:0] INIT_RAM_19 = 0,
    parameter [287:0] INIT_RAM_1A = 0,
    parameter [287:0] INIT_RAM_1B = 0,
    parameter [287:0] INIT_RAM_1C = 0,
    parameter [287:0] INIT_RAM_1D = 0,
    parameter [287:0] INIT_RAM_1E = 0,
    parameter [287:0] INIT_RAM_1F = 0,
    parameter [287:0] INIT_RAM_20 = 0,
    parameter [287:0] INIT_RAM_21 = 0,
    parameter [287:0] INIT_RAM_22 = 0,
    parameter [287:0] INIT_RAM_23 = 0,
    parameter [287:0] INIT_RAM_24 = 0,
    parameter [287:0] INIT_RAM_25 = 0,
    parameter [287:0] INIT_RAM_26 = 0,
    parameter [287:0] INIT_RAM_27 = 0,
    parameter [287:0] INIT_RAM_28 = 0,
    parameter [287:0] INIT_RAM_29 = 0,
    parameter [287:0] INIT_RAM_2A = 0,
    parameter [287:0] INIT_RAM_2B = 0,
    parameter [287:0] INIT_RAM_2C = 0,
    parameter [287:0] INIT_RAM_2D = 0,
    parameter [287:0] INIT_RAM_2E = 0,
    parameter [287:0] INIT_RAM_2F = 0,
    parameter [287:0] INIT_RAM_30 = 0,
    parameter [287:0] INIT_RAM_31 = 0,
    parameter [287:0] INIT_RAM_32 = 0,
    parameter [287:0] INIT_RAM_33 = 0,
    parameter [287:0] INIT_RAM_34 = 0,
    parameter [287:0] INIT_RAM_35 = 0,
    parameter [287:0] INIT_RAM_36 = 0,
    parameter [287:0] INIT_RAM_37 = 0,
    parameter [287:0] INIT_RAM_38 = 0,
    parameter [287:0] INIT_RAM_39 = 0,
    parameter [287:0] INIT_RAM_3A = 0,
    parameter [287:0] INIT_RAM_3B = 0,
    parameter [287:0] INIT_RAM_3C = 0,
    parameter [287:0] INIT_RAM_3D = 0,
    parameter [287:0] INIT_RAM_3E = 0,
    parameter [287:0] INIT_RAM_3F = 0
) (
    output [35:0] DO,
    input [35:0] DI,
    input [2:0] BLKSEL,
    input [13:0] AD,
    input WRE, CLK, CE, OCE, RESET
);
  localparam Step = BIT_WIDTH / 9 * 8;
  wire [18431:0] contents = {
    INIT_RAM_3F, INIT_RAM_3E, INIT_RAM_3D, INIT_RAM_3C, INIT_RAM_3B, INIT_RAM_3A, INIT_RAM_39, INIT_RAM_38,
    INIT_RAM_37, INIT_RAM_36, INIT_RAM_35, INIT_RAM_34, INIT_RAM_33, INIT_RAM_32, INIT_RAM_31, INIT_RAM_30,
    INIT_RAM_2F, INIT_RAM_2E, INIT_RAM_2D, INIT_RAM_2C, INIT_RAM_2B, INIT_RAM_2A, INIT_RAM_29, INIT_RAM_28,
    INIT_RAM_27, INIT_RAM_26, INIT_RAM_25, INIT_RAM_24, INIT_RAM_23, INIT_RAM_22, INIT_RAM_21, INIT_RAM_20,
    INIT_RAM_1F, INIT_RAM_1E, INIT_RAM_1D, INIT_RAM_1C, INIT_RAM_1B, INIT_RAM_1A, INIT_RAM_19, INIT_RAM_18,
    INIT_RAM_17, INIT_RAM_16, INIT_RAM_15, INIT_RAM_14, INIT_RAM_13, INIT_RAM_12, INIT_RAM_11, INIT_RAM_10,
    INIT_RAM_0F, INIT_RAM_0E, INIT_RAM_0D, INIT_RAM_0C, INIT_RAM_0B, INIT_RAM_0A, INIT_RAM_09, INIT_RAM_08,
    INIT_RAM_07, INIT_RAM_06, INIT_RAM_05, INIT_RAM_04, INIT_RAM_03, INIT_RAM_02, INIT_RAM_01, INIT_RAM_00
  };
  wire [13:0] first = AD & ~(14'(Step - 1));
  wire [14:0] position = 15'(first[13:3]) * 15'd9;
  reg [35:0] q;
  always @(posedge CLK) if (CE) q <= 36'(contents[position+:BIT_WIDTH]);
  assign DO = q;
  initial begin
    if (READ_MODE != 0) $fatal(1, "SPX9: the output register is not modelled");
    case (BIT_WIDTH)
      9, 18, 36: ;
      default: $fatal(1, "SPX9: BIT_WIDTH %0d is not modelled", BIT_WIDTH);
    endcase
  end
  always @(posedge CLK)
    if (WRE || RESET || BLKSEL != BLK_SEL) $fatal(1, "SPX9: only reading is modelled");
endmodule

module MULT9X9 #(
    parameter AREG = 0,
    parameter BREG = 0,
    parameter OUT_REG = 0,
    parameter PIPE_REG = 0,
    parameter ASIGN_REG = 0,
    parameter BSIGN_REG = 0
) (
    input [8:0] A, SIA, B, SIB,
    input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET,
    output [17:0] DOUT
);
  wire signed [17:0] wide_a = {{9{ASIGN & A[8]}}, A};
  wire signed [17:0] wide_b = {{9{BSIGN & B[8]}}, B};
  assign DOUT = wide_a * wide_b;
  initial
    if (AREG != 0 || BREG != 0 || OUT_REG != 0 || PIPE_REG != 0 || ASIGN_REG != 0 || BSIGN_REG != 0)
      $fatal(1, "MULT9X9: only the product without registers is modelled");
  always @* if (ASEL || BSEL) $fatal(1, "MULT9X9: shifted operands are not modelled");
endmodule

module MULT18X18 #(
    parameter AREG = 0,
    parameter BREG = 0,
    parameter OUT_REG = 0,
    parameter PIPE_REG = 0,
    parameter ASIGN_REG = 0,
    parameter BSIGN_REG = 0
) (
    input [17:0] A, SIA, B, SIB,
    input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET,
    output [35:0] DOUT
);
  wire signed [35:0] wide_a = {{18{ASIGN & A[17]}}, A};
  wire signed [35:0] wide_b = {{18{BSIGN & B[17]}}, B};
  assign DOUT = wide_a * wide_b;
  initial
    if (AREG != 0 || BREG != 0 || OUT_REG != 0 || PIPE_REG != 0 || ASIGN_REG != 0 || BSIGN_REG != 0)
      $fatal(1, "MULT18X18: only the product without registers is modelled");
  always @* if (ASEL || BSEL) $fatal(1, "MULT18X18: shifted operands are not modelled");
endmodule
