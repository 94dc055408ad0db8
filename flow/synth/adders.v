// Keeps every adder of a design an adder: one carry chain each, as the design's own adder graphs and its area and
// delay models have it. Without this map Yosys merges adders that feed each other into compressor trees of LUTs, which
// take more area and are slower where carry chains are fast (measured on ECP5: 36 % more LUTs, 19 % longer period).
(* techmap_celltype = "$add $sub" *)
module flow_adder #(
    parameter A_SIGNED = 0,
    parameter B_SIGNED = 0,
    parameter A_WIDTH = 1,
    parameter B_WIDTH = 1,
    parameter Y_WIDTH = 1,
    parameter _TECHMAP_CELLTYPE_ = ""
) (
    input [A_WIDTH-1:0] A,
    input [B_WIDTH-1:0] B,
    output [Y_WIDTH-1:0] Y
);
  localparam Signed = A_SIGNED && B_SIGNED;
  localparam Subtract = _TECHMAP_CELLTYPE_ == "$sub";
  wire [Y_WIDTH-1:0] x, co;
  \$alu #(
      .A_SIGNED(Signed), .B_SIGNED(Signed), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)
  ) _TECHMAP_REPLACE_ (
      .A(A), .B(B), .CI(Subtract), .BI(Subtract), .X(x), .Y(Y), .CO(co)
  );
endmodule
