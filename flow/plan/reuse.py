"""Reuse factors that the hls4ml configuration asks for, beside those that can be had."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from flow.engines.folded_choices import foldable, reuse_factors
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, Dense


@dataclass(frozen=True, slots=True)
class Reuse:
    """Give a layer's reuse factor: asked for, used, and what hls4ml would use by its own rule.

    label: of the layer. node: its matrix product. strategy: as asked.
    """

    label: str
    node: str
    asked: int
    strategy: str
    used: int
    hls4ml: int


def valid_for_hls4ml(n_in: int, n_out: int, reuse_factor: int) -> bool:
    """Tell whether hls4ml 1.3 takes a reuse factor for a dense layer (FPGABackend._validate_reuse_factor)."""
    if n_in * n_out % reuse_factor:
        return False
    limit = -(-n_in * n_out // min(n_in, reuse_factor))
    return (limit % n_out == 0 or reuse_factor >= n_in) and (reuse_factor % n_in == 0 or reuse_factor < n_in)


def used_by_hls4ml(n_in: int, n_out: int, reuse_factor: int, strategy: str = "Resource") -> int:
    """Return the reuse factor that hls4ml 1.3 takes for a dense layer (VivadoBackend.init_dense).

    Under the Resource strategies an invalid one gives way to the nearest valid one, of two the smaller; Resource
    unrolled leaves out the largest. Other strategies take any.
    """
    kind = strategy.lower().replace("_", "")
    if not kind.startswith("resource"):
        return reuse_factor
    most = n_in * n_out
    if kind == "resourceunrolled" and reuse_factor > 1 < most:
        most -= 1
    valid = (f for f in range(1, most + 1) if valid_for_hls4ml(n_in, n_out, f))
    return min(valid, key=lambda f: (abs(f - reuse_factor), f))


def wishes(graph: Graph, groups: tuple[tuple[str, ...], ...]) -> tuple[Reuse, ...]:
    """Return the asked reuse factors of all runs that begin with a matrix product, with those that will be used.

    A convolution's is that of one place. The nearest smaller one is used where none is exact. A reuse factor of 1 is
    what the unrolled layer has, whatever the strategy.
    """
    by_label = {asked.label: asked for asked in graph.asked}
    found = []
    for run in groups:
        head = graph.node(run[0])
        asked = by_label.get(head.label)
        matrix = _matrix(graph, run)
        if asked is None or matrix is None:
            continue
        exist = reuse_factors(graph, matrix)
        used = exist[bisect_right(exist, asked.reuse_factor) - 1]
        theirs = used_by_hls4ml(matrix.n_in, matrix.n_out, asked.reuse_factor, asked.strategy)
        found.append(Reuse(head.label, head.name, asked.reuse_factor, asked.strategy, used, theirs))
    return tuple(found)


def _matrix(graph: Graph, run: tuple[str, ...]) -> Dense | None:
    """Return the matrix product with which a run begins, None where it begins with none that can be folded."""
    head = graph.node(run[0])
    if isinstance(head, Conv):
        return head.matrix
    return head if isinstance(head, Dense) and foldable(graph, run) else None
