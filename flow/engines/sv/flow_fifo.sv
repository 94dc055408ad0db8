// flow_fifo: keeps the beats of an early branch until the late one comes; valid_o and data_o are there with pop_i.
// Depth is the most that ever waits: a beat that finds it full, or a pop that finds it empty, is a fault of the
// schedule and stops a simulation. Bypass: a beat may leave in the cycle in which it comes.
// Latency as the other branch has it. rst_i empties it.
module flow_fifo #(
  parameter int unsigned Width  = 1,  // bits of a beat
  parameter int unsigned Depth  = 1,
  parameter bit          Bypass = 1'b0,
  parameter int unsigned Store  = 0   // 0 registers, 1 LUT RAM, 2 block RAM
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  input  logic             pop_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  logic empty, full, through, push, pop;
  assign through = Bypass & empty & valid_i & pop_i;
  assign push = valid_i & ~through;
  assign pop = pop_i & ~through;
  assign valid_o = pop_i;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      if (push && !pop && full) begin
        $error("flow_fifo: a beat came while %0d were waiting", Depth);
      end
      if (pop && empty) begin
        $error("flow_fifo: a beat was due while none was waiting");
      end
    end
  end
`endif

  logic [Width-1:0] head;
  if (Store == 0) begin : gen_registers
    // the oldest beat stands at the bottom; what stands in a free place does not matter
    logic [Depth*Width-1:0] kept_q;
    logic [Depth-1:0] free_q;  // places that no beat takes, the upper ones
    assign empty = free_q[0];
    assign full = ~free_q[Depth-1];
    for (genvar k = 0; k < int'(Depth); k++) begin : gen_places
      logic after_push, after_pop;
      if (k == 0) begin : gen_bottom
        assign after_push = 1'b0;
      end else begin : gen_not_bottom
        assign after_push = free_q[k-1];
      end
      if (k == int'(Depth) - 1) begin : gen_top
        assign after_pop = 1'b1;
        always_ff @(posedge clk_i) begin
          if (pop | free_q[k]) begin
            kept_q[k*int'(Width)+:Width] <= data_i;
          end
        end
      end else begin : gen_not_top
        assign after_pop = free_q[k+1];
        always_ff @(posedge clk_i) begin
          if (pop | free_q[k]) begin
            kept_q[k*int'(Width)+:Width] <= free_q[k+1] ? data_i : kept_q[(k+1)*int'(Width)+:Width];
          end
        end
      end
      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          free_q[k] <= 1'b1;
        end else if (push != pop) begin
          free_q[k] <= push ? after_push : after_pop;
        end
      end
    end
    assign head = kept_q[Width-1:0];
  end else begin : gen_memory
    localparam int unsigned CountWidth = $clog2(Depth + 1);
    localparam int unsigned PlaceWidth = Depth > 1 ? $clog2(Depth) : 1;
    logic [CountWidth-1:0] count_q;
    assign empty = count_q == '0;
    assign full = count_q == CountWidth'(Depth);
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        count_q <= '0;
      end else begin
        count_q <= count_q + CountWidth'(push) - CountWidth'(pop);
      end
    end
    logic [PlaceWidth-1:0] write_q, read_q, read;
    assign read = pop ? (read_q == PlaceWidth'(Depth - 1) ? '0 : read_q + PlaceWidth'(1)) : read_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        write_q <= '0;
        read_q <= '0;
      end else begin
        read_q <= read;
        if (push) begin
          write_q <= write_q == PlaceWidth'(Depth - 1) ? '0 : write_q + PlaceWidth'(1);
        end
      end
    end
    // a beat that is written where the next one is read goes past the memory, which then does not read
    logic [Width-1:0] word_q, past_q;
    logic goes_past, is_past_q;
    assign goes_past = push & (write_q == read);
    assign head = is_past_q ? past_q : word_q;
    always_ff @(posedge clk_i) begin
      is_past_q <= goes_past;
      past_q <= data_i;
    end
    if (Store == 1) begin : gen_lutram
      (* ram_style = "distributed" *) logic [Width-1:0] words[Depth];
      always_ff @(posedge clk_i) begin
        if (push) begin
          words[write_q] <= data_i;
        end
        if (!goes_past) begin
          word_q <= words[read];
        end
      end
    end else begin : gen_block
      (* ram_style = "block" *) logic [Width-1:0] words[Depth];
      always_ff @(posedge clk_i) begin
        if (push) begin
          words[write_q] <= data_i;
        end
        if (!goes_past) begin
          word_q <= words[read];
        end
      end
    end
  end
  assign data_o = through ? data_i : head;
endmodule
