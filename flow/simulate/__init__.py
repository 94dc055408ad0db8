"""The hardware under cocotb and Verilator."""
