"""The types of the generous conversion: so wide that only float arithmetic and tables tell it from the framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flow.fixed import FixedType, Overflow

WIDE_INPUT = FixedType(64, 24)  # hls4ml rewrites input types of more than 100 bits
WIDE_WEIGHT = FixedType(64, 24)
WIDE = FixedType(96, 40)
WIDEST = FixedType(160, 64)
WEIGHT_VARIABLES = frozenset({"weight", "bias", "scale", "param", "embeddings", "depthwise", "pointwise"})

TABLE_SIZE = 1 << 14
SQUARE_TABLE_SIZE = 1 << 16  # where an error of the index counts several times
TABLED = frozenset({"sigmoid", "tanh", "softplus", "softsign", "elu", "selu", "softmax"})
"""Activations that hls4ml reads from a table."""

_TABLE = FixedType(48, 16)
# hls4ml numbers a table's entries with int: more integer bits would overflow it
TABLE_CUT = FixedType(56, 16, overflow=Overflow.SAT)
# hls4ml's stable softmax indexes its tables by the top bits of a type: logits are cut to ±16
SOFTMAX_CUT = FixedType(61, 5, overflow=Overflow.SAT)
SOFTMAX_INPUT = FixedType(63, 7)
_SOFTMAX = {
    "exp_table": FixedType(48, 2),
    "inv_table": FixedType(48, 2),
    "accum": FixedType(60, 20),
}


def generous_types(entry: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """Return wide types for the variables of a layer that have a default of their own."""
    class_name = entry["class_name"]
    if class_name == "Softmax":
        # sums lie between 1 and the number of classes
        classes = int(entry.get("n_in", 512)) // int(entry.get("n_outer", 1))
        sums = FixedType(48, classes.bit_length() + 1, signed=False)
        return {name: str(kind) for name, kind in (_SOFTMAX | {"inv_inp": sums}).items()}
    wide: dict[str, str] = {}
    if "table" in types:
        wide["table"] = str(_TABLE)
    if class_name in ("LayerNormalization", "Dot"):
        wide["accum"] = str(WIDE)
    return wide


def generous_settings(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a layer with a fine table where it has one, and with a softmax that is one."""
    kind = entry["class_name"]
    if kind == "Softmax":
        return {**settings, "implementation": "stable", "table_size": SQUARE_TABLE_SIZE}
    if kind == "LayerNormalization":
        return {**settings, "table_size": SQUARE_TABLE_SIZE}
    if str(entry.get("activation")).lower() in TABLED:
        return {**settings, "table_size": TABLE_SIZE}
    return dict(settings)
