"""hls4ml's own project through the vendor's HLS compiler: what its report will say, predicted."""
