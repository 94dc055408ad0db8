"""Groups of families that are built alike."""

from __future__ import annotations

XILINX = frozenset({"xcup", "xcu", "xc7"})
"""Families whose LUTs have six inputs."""
