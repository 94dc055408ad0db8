"""fpgaflow: from a quantized neural network and a latency budget to verified FPGA hardware."""
