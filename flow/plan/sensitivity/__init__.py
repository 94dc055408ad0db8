"""What a plan's latency and area depend on: every figure from a design that was planned, none from a slope."""
