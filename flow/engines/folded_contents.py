"""What a folded engine has to read in each step: weights and biases as memory words."""

from __future__ import annotations

import numpy as np

from flow.engines.folded import Folded
from flow.engines.lane import Lane, dense_of, lane_of
from flow.fixed import IntArray
from flow.graph.graph import Graph


def step_weights(graph: Graph, choice: Folded) -> IntArray:
    """Return the weights of every step, shape (reuse_factor, q, p), padded with zeros, in the order of the steps."""
    node = dense_of(graph, choice)
    padded = np.zeros((choice.groups_in * choice.p, choice.groups_out * choice.q), dtype=node.weights.dtype)
    padded[: node.n_in, : node.n_out] = node.weights
    blocks = padded.reshape(choice.groups_in, choice.p, choice.groups_out, choice.q)
    order = (2, 0, 3, 1) if choice.order == "output_serial" else (0, 2, 3, 1)
    return blocks.transpose(order).reshape(choice.reuse_factor, choice.q, choice.p)


def word_width(lane: Lane, choice: Folded) -> int:
    """Return the bits of the weights of one step."""
    if choice.multiplier == "dsp_pair":
        return -(-choice.q // 2) * choice.p * (2 * lane.weight.width + 1)
    return choice.multipliers * lane.weight.width


def weight_words(graph: Graph, choice: Folded) -> tuple[int, ...]:
    """Return the word of each step: weight (j, i) of `step_weights` is number j * p + i from the low end.

    A pair of lanes shares multipliers: its weights stand as flow_product_pairs reads them.
    """
    lane, weights = lane_of(graph, choice), step_weights(graph, choice)
    width = lane.weight.width
    if choice.multiplier != "dsp_pair":
        return tuple(_word(step.ravel(), width) for step in weights)
    if choice.q % 2:
        weights = np.concatenate([weights, np.zeros_like(weights[:, :1])], axis=1)
    low, high = weights[:, 0::2], weights[:, 1::2]
    mask = (1 << width) - 1
    both = (high.astype(object) - (low < 0) << width) + (low.astype(object) & mask)
    return tuple(_word(step.ravel(), 2 * width + 1) for step in both)


def bias_words(graph: Graph, choice: Folded) -> tuple[int, ...]:
    """Return the word of each group of outputs: lane j's start of the accumulator is number j from the low end."""
    lane, node = lane_of(graph, choice), dense_of(graph, choice)
    if lane.bias is None:
        return ()
    padded = np.zeros(choice.groups_out * choice.q, dtype=object)
    padded[: node.n_out] = node.start
    return tuple(_word(group, lane.bias.width) for group in padded.reshape(choice.groups_out, choice.q))


def _word(values: IntArray, width: int) -> int:
    mask, word = (1 << width) - 1, 0
    for value in reversed(values.tolist()):
        word = word << width | value & mask
    return word
