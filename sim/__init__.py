"""The cocotb bench: it reads `signature.json` and vectors only, and knows nothing of how the hardware was made."""
