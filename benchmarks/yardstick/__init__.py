"""What the benchmarks share: the networks that are measured, and alkaid as the yardstick beside fpgaflow."""
