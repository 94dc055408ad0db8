// flow_window: keeps the rows of an image that comes beat by beat and gives the window around each place.
// A beat has Lanes elements of Width bits; an image has Rows x Columns beats. The window of KernelRows x KernelColumns
// beats moves by StrideRows and StrideColumns; it begins PadTop and PadLeft beats outside the image, where elements are
// Pad. Beat (r, c) of the window stands at element (r * KernelColumns + c) * Lanes of data_o.
// Each beat moves the window on by one step; behind the last beat it moves on by itself every Pace cycles.
// Latency 1 cycle from the step that completes a window. rst_i clears the counters.
module flow_window #(
  parameter int unsigned Width         = 1,
  parameter int unsigned Lanes         = 1,
  parameter int unsigned Rows          = 1,
  parameter int unsigned Columns       = 1,
  parameter int unsigned KernelRows    = 1,
  parameter int unsigned KernelColumns = 1,
  parameter int unsigned StrideRows    = 1,
  parameter int unsigned StrideColumns = 1,
  parameter int unsigned PadTop        = 0,
  parameter int unsigned PadLeft       = 0,
  parameter int unsigned OutRows       = 1,
  parameter int unsigned OutColumns    = 1,
  parameter int unsigned Pace          = 1,
  parameter int unsigned Pad           = 0,
  parameter int unsigned Store         = 0   // of the rows above: 0 registers, 1 LUT RAM, 2 block RAM
) (
  input  logic                                              clk_i,
  input  logic                                              rst_i,
  input  logic                                              valid_i,
  input  logic [Lanes*Width-1:0]                            data_i,
  output logic                                              valid_o,
  output logic [KernelRows*KernelColumns*Lanes*Width-1:0]   data_o
);
  localparam int unsigned BeatBits = Lanes * Width;
  localparam int unsigned Beats = Rows * Columns;
  localparam int unsigned Lead = (KernelRows - 1 - PadTop) * Columns + KernelColumns - 1 - PadLeft;
  localparam int unsigned LastRow = (OutRows - 1) * StrideRows;
  localparam int unsigned LastColumn = (OutColumns - 1) * StrideColumns;
  localparam bit Flushes = Lead + LastRow * Columns + LastColumn >= Beats;
  localparam int unsigned BeatWidth = $clog2(Beats + 1);
  localparam int unsigned LeadWidth = $clog2(Lead + 2);
  localparam int unsigned RowWidth = $clog2(LastRow + 2);
  localparam int unsigned ColumnWidth = $clog2(Columns + 1);

  if (LastColumn >= Columns || (KernelRows - 1) * Columns + KernelColumns - 1 < PadTop * Columns + PadLeft)
  begin : gen_bad_parameters
    $error("flow_window: windows lie more than a row beyond the image");
  end

  // steps: a beat, or time itself once the image has come
  logic step, idle_step;
  assign step = valid_i | idle_step;

  // beats of the image that have come
  logic [BeatWidth-1:0] came_q;
  logic first, complete;
  assign first = valid_i & (came_q == '0);
  assign complete = valid_i & (came_q == BeatWidth'(Beats - 1));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      came_q <= '0;
    end else if (valid_i) begin
      came_q <= complete ? '0 : came_q + BeatWidth'(1);
    end
  end

  // the place whose window the next step completes, once the first corner has been reached
  logic begins, running_q, ends;
  logic [RowWidth-1:0] row_q, row;
  logic [ColumnWidth-1:0] column_q, column;
  if (Lead == 0) begin : gen_at_once
    assign begins = first;
  end else begin : gen_lead
    logic [LeadWidth-1:0] left_q;  // steps before the first corner
    assign begins = step & (left_q == LeadWidth'(1));
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        left_q <= '0;
      end else if (first) begin
        left_q <= LeadWidth'(Lead);
      end else if (step & (left_q != '0)) begin
        left_q <= left_q - LeadWidth'(1);
      end
    end
  end
  assign row = begins ? '0 : row_q;
  assign column = begins ? '0 : column_q;
  assign ends = (row == RowWidth'(LastRow)) & (column == ColumnWidth'(LastColumn));
  logic scans;
  assign scans = begins | (running_q & step);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      running_q <= 1'b0;
      row_q <= '0;
      column_q <= '0;
    end else if (scans) begin
      running_q <= ~ends;
      row_q <= row + RowWidth'(column == ColumnWidth'(Columns - 1));
      column_q <= column == ColumnWidth'(Columns - 1) ? '0 : column + ColumnWidth'(1);
    end
  end

  if (Flushes) begin : gen_flush
    logic flushing_q, due;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        flushing_q <= 1'b0;
      end else if (complete) begin
        flushing_q <= 1'b1;
      end else if (scans & ends) begin
        flushing_q <= 1'b0;
      end
    end
    assign idle_step = flushing_q & due;
    if (Pace == 1) begin : gen_every_cycle
      assign due = 1'b1;
    end else begin : gen_paced
      localparam int unsigned WaitWidth = $clog2(Pace);
      logic [WaitWidth-1:0] wait_q;
      assign due = wait_q == '0;
      always_ff @(posedge clk_i) begin
        if (complete | due) begin
          wait_q <= WaitWidth'(Pace - 1);
        end else begin
          wait_q <= wait_q - WaitWidth'(1);
        end
      end
    end
  end else begin : gen_no_flush
    assign idle_step = 1'b0;
  end

  // places between strides make no window
  logic on_row, on_column;
  if (StrideRows == 1) begin : gen_each_row
    assign on_row = 1'b1;
  end else begin : gen_some_rows
    localparam int unsigned PhaseWidth = $clog2(StrideRows);
    logic [PhaseWidth-1:0] phase_q, phase;
    assign phase = begins ? '0 : phase_q;
    assign on_row = phase == '0;
    always_ff @(posedge clk_i) begin
      if (scans) begin
        if (column == ColumnWidth'(Columns - 1)) begin
          phase_q <= phase == PhaseWidth'(StrideRows - 1) ? '0 : phase + PhaseWidth'(1);
        end else begin
          phase_q <= phase;
        end
      end
    end
  end
  if (StrideColumns == 1) begin : gen_each_column
    assign on_column = column <= ColumnWidth'(LastColumn);
  end else begin : gen_some_columns
    localparam int unsigned PhaseWidth = $clog2(StrideColumns);
    logic [PhaseWidth-1:0] phase_q, phase;
    assign phase = begins ? '0 : phase_q;
    assign on_column = (phase == '0) & (column <= ColumnWidth'(LastColumn));
    always_ff @(posedge clk_i) begin
      if (scans) begin
        if (column == ColumnWidth'(Columns - 1) || phase == PhaseWidth'(StrideColumns - 1)) begin
          phase_q <= '0;
        end else begin
          phase_q <= phase + PhaseWidth'(1);
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_o <= 1'b0;
    end else begin
      valid_o <= scans & on_row & on_column;
    end
  end

  // the beats above the one that comes, the oldest row first
  logic [KernelRows*BeatBits-1:0] line;
  if (KernelRows == 1) begin : gen_one_row
    assign line = data_i;
  end else begin : gen_rows
    localparam int unsigned KeptBits = (KernelRows - 1) * BeatBits;
    logic [KeptBits-1:0] above;
    assign line = {data_i, above};
    if (Store == 0) begin : gen_registers
      logic [Columns*KeptBits-1:0] kept_q;
      assign above = kept_q[KeptBits-1:0];
      if (Columns == 1) begin : gen_single
        always_ff @(posedge clk_i) begin
          if (step) begin
            kept_q <= line[KernelRows*BeatBits-1:BeatBits];
          end
        end
      end else begin : gen_several
        always_ff @(posedge clk_i) begin
          if (step) begin
            kept_q <= {line[KernelRows*BeatBits-1:BeatBits], kept_q[Columns*KeptBits-1:KeptBits]};
          end
        end
      end
    end else begin : gen_memory
      localparam int unsigned AddressWidth = $clog2(Columns);
      logic [AddressWidth-1:0] at_q, next;
      logic [KeptBits-1:0] above_q;
      assign next = at_q == AddressWidth'(Columns - 1) ? '0 : at_q + AddressWidth'(1);
      assign above = above_q;
      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          at_q <= '0;
        end else if (step) begin
          at_q <= next;
        end
      end
      // the word of the next step is read while this one writes another
      if (Store == 1) begin : gen_lutram
        (* ram_style = "distributed" *) logic [KeptBits-1:0] rows[Columns];
        always_ff @(posedge clk_i) begin
          if (step) begin
            rows[at_q] <= line[KernelRows*BeatBits-1:BeatBits];
            above_q <= rows[next];
          end
        end
      end else begin : gen_block
        (* ram_style = "block" *) logic [KeptBits-1:0] rows[Columns];
        always_ff @(posedge clk_i) begin
          if (step) begin
            rows[at_q] <= line[KernelRows*BeatBits-1:BeatBits];
            above_q <= rows[next];
          end
        end
      end
    end
  end

  // the window: a new line of beats enters at the right
  logic [KernelColumns*KernelRows*BeatBits-1:0] window_q;
  if (KernelColumns == 1) begin : gen_one_column
    always_ff @(posedge clk_i) begin
      if (step) begin
        window_q <= line;
      end
    end
  end else begin : gen_columns
    always_ff @(posedge clk_i) begin
      if (step) begin
        window_q <= {line, window_q[KernelColumns*KernelRows*BeatBits-1:KernelRows*BeatBits]};
      end
    end
  end

  // beats outside the image
  logic [KernelRows-1:0] row_inside;
  logic [KernelColumns-1:0] column_inside;
  for (genvar r = 0; r < int'(KernelRows); r++) begin : gen_row_inside
    if (r >= Rows + PadTop || LastRow + r < PadTop) begin : gen_never
      assign row_inside[r] = 1'b0;
    end else if (r >= PadTop && LastRow + r < Rows + PadTop) begin : gen_always
      assign row_inside[r] = 1'b1;
    end else begin : gen_sometimes
      logic after_first, until_last, inside_q;
      if (r >= PadTop) begin : gen_from_first
        assign after_first = 1'b1;
      end else begin : gen_after
        assign after_first = row >= RowWidth'(PadTop - r);
      end
      if (LastRow + r < Rows + PadTop) begin : gen_to_last
        assign until_last = 1'b1;
      end else begin : gen_before
        assign until_last = row <= RowWidth'(Rows + PadTop - 1 - r);
      end
      always_ff @(posedge clk_i) begin
        if (step) begin
          inside_q <= after_first & until_last;
        end
      end
      assign row_inside[r] = inside_q;
    end
  end
  for (genvar c = 0; c < int'(KernelColumns); c++) begin : gen_column_inside
    if (c >= Columns + PadLeft || LastColumn + c < PadLeft) begin : gen_never
      assign column_inside[c] = 1'b0;
    end else if (c >= PadLeft && LastColumn + c < Columns + PadLeft) begin : gen_always
      assign column_inside[c] = 1'b1;
    end else begin : gen_sometimes
      logic after_first, until_last, inside_q;
      if (c >= PadLeft) begin : gen_from_first
        assign after_first = 1'b1;
      end else begin : gen_after
        assign after_first = column >= ColumnWidth'(PadLeft - c);
      end
      if (LastColumn + c < Columns + PadLeft) begin : gen_to_last
        assign until_last = 1'b1;
      end else begin : gen_before
        assign until_last = column <= ColumnWidth'(Columns + PadLeft - 1 - c);
      end
      always_ff @(posedge clk_i) begin
        if (step) begin
          inside_q <= after_first & until_last;
        end
      end
      assign column_inside[c] = inside_q;
    end
  end
  for (genvar r = 0; r < int'(KernelRows); r++) begin : gen_window_rows
    for (genvar c = 0; c < int'(KernelColumns); c++) begin : gen_window_columns
      assign data_o[(r*int'(KernelColumns)+c)*int'(BeatBits)+:BeatBits] = row_inside[r] & column_inside[c] ?
        window_q[(c*int'(KernelRows)+r)*int'(BeatBits)+:BeatBits] : {Lanes{Width'(Pad)}};
    end
  end
endmodule
