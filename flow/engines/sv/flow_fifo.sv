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
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PlaceWidth = Depth > 1 ? $clog2(Depth) : 1;

  logic [CountWidth-1:0] count_q;
  logic empty, through, push, pop;
  assign empty = count_q == '0;
  assign through = Bypass & empty & valid_i & pop_i;
  assign push = valid_i & ~through;
  assign pop = pop_i & ~through;
  assign valid_o = pop_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
    end else begin
      count_q <= count_q + CountWidth'(push) - CountWidth'(pop);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      if (push && !pop && count_q == CountWidth'(Depth)) begin
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
    // the oldest beat stands at the bottom
    logic [Depth*Width-1:0] kept_q, moved;
    assign moved = pop ? kept_q >> Width : kept_q;
    for (genvar k = 0; k < int'(Depth); k++) begin : gen_places
      always_ff @(posedge clk_i) begin
        if (push && count_q == CountWidth'(k) + CountWidth'(pop)) begin
          kept_q[k*int'(Width)+:Width] <= data_i;
        end else begin
          kept_q[k*int'(Width)+:Width] <= moved[k*int'(Width)+:Width];
        end
      end
    end
    assign head = kept_q[Width-1:0];
  end else begin : gen_memory
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
    // a beat that is written where the next one is read goes past the memory
    logic [Width-1:0] word_q, past_q;
    logic is_past_q;
    assign head = is_past_q ? past_q : word_q;
    always_ff @(posedge clk_i) begin
      is_past_q <= push & (write_q == read);
      past_q <= data_i;
    end
    if (Store == 1) begin : gen_lutram
      (* ram_style = "distributed" *) logic [Width-1:0] words[Depth];
      always_ff @(posedge clk_i) begin
        if (push) begin
          words[write_q] <= data_i;
        end
        word_q <= words[read];
      end
    end else begin : gen_block
      (* ram_style = "block" *) logic [Width-1:0] words[Depth];
      always_ff @(posedge clk_i) begin
        if (push) begin
          words[write_q] <= data_i;
        end
        word_q <= words[read];
      end
    end
  end
  assign data_o = through ? data_i : head;
endmodule
