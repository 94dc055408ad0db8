"""Module objects, their text, and the signature."""
