"""Whether a softmax's table is fine enough for the type of its input."""

from __future__ import annotations

from typing import Any

from flow.errors import UserError
from flow.fixed import parse_type

COARSE = 0.125
"""Bins of this width and more turn the order of outputs round: exp(x) differs by 13 % over one of them."""


def coarse_table(graph: Any) -> list[tuple[str, str]]:
    """Return (hls4ml layer name, note) for every softmax of a ModelGraph whose exponential is read in coarse steps.

    hls4ml's latency and stable implementations index the table by the top bits of the input (stable: of the difference
    to the largest, one bit less), nnet_activation.h: `softmax_idx_from_real_val`.
    """
    notes: list[tuple[str, str]] = []
    for node in graph.get_layers():
        if node.class_name != "Softmax":
            continue
        implementation = str(node.get_attr("implementation"))
        try:
            kind = parse_type(str(node.get_input_variable().type.precision))
        except UserError:
            continue
        if implementation not in ("stable", "latency"):
            continue
        size = int(node.get_attr("exp_table_size", node.get_attr("table_size")))
        sign = int(kind.signed) if implementation == "stable" else 0
        bits = min((size - 1).bit_length(), kind.width - sign)
        width = 2.0 ** (kind.integer - sign - bits)
        if width < COARSE:
            continue
        fraction = max(kind.fraction, 0)
        wanted = max(1, (size - 1).bit_length() - 6 + sign)  # bins of 1/64
        better = min(kind.integer - 1, wanted)
        note = (
            f"the softmax reads its exponential in steps of {width:g} (a table of {1 << bits} entries over {kind}); "
            f"give its input fewer integer bits, such as fixed<{better + min(fraction, 10)},{better},RND,SAT>, or "
            "TableSize a larger value, or leave a final softmax out"
        )
        notes.append((str(node.name), note))
    return notes
