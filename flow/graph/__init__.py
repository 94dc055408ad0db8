"""The network on fixed-point tensors: what is computed."""
