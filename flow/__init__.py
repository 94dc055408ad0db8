"""fpgaflow: from a quantized neural network and a latency budget to verified FPGA hardware."""

__version__ = "0.1.0"
