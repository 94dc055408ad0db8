"""The work of a network, and the least time of a GPU for it."""

from dataclasses import replace

import pytest

from flow.baseline.catalogue import Gpu
from flow.baseline.work import Work, fingerprint, least_ns, work_of
from tests.commands import tiny_graph
from tests.report.skip_graph import skip_graph

# one operation, or one byte of L2, takes 1 ns; a byte of memory 10 ns
ROUND = Gpu("round", 1e9, 100, 1_000, 1e9, 1e8, "made up", "none", "never", "S")


@pytest.mark.parametrize(
    ("work", "weights", "ns"),
    [
        (Work(0, 0), "l2", 0),
        (Work(30, 50), "l2", 60),  # 60 operations outlast 50 bytes
        (Work(10, 50), "l2", 50),
        (Work(10, 50), "chip", 20),  # they lie in registers already
        (Work(10, 150), "chip", 50),  # 50 bytes do not fit there
        (Work(10, 1_400), "l2", 4_000),  # 400 bytes come from memory
        (Work(10, 1_400), "chip", 3_000),  # 300 do
    ],
)
def test_the_longest_of_arithmetic_and_memories_counts(work, weights, ns):
    assert least_ns(work, ROUND, weights) == pytest.approx(ns)


def test_more_work_never_takes_less():
    sizes = [0, 1, 99, 100, 101, 1_099, 1_100, 1_101, 5_000]
    for weights in ("l2", "chip"):
        times = [least_ns(Work(7, size), ROUND, weights) for size in sizes]
        assert times == sorted(times)
    assert all(least_ns(Work(7, s), ROUND, "chip") <= least_ns(Work(7, s), ROUND, "l2") for s in sizes)


def test_work_counts_weights_at_their_widths_and_layers_without_what_is_fused():
    # twelve weights and three biases of 4 bits; the ReLU is no kernel of its own
    assert work_of(tiny_graph()) == Work(12, -(-15 * 4 // 8), 1)
    assert work_of(skip_graph()).kernels == 3  # two convolutions and a pool; the difference is fused


def test_a_fingerprint_follows_what_is_computed_and_no_name():
    assert fingerprint(tiny_graph()) == fingerprint(tiny_graph("other", label="another label"))
    assert fingerprint(tiny_graph()) != fingerprint(tiny_graph(weight=2))
    first = tiny_graph()
    renamed = replace(first, notes=("said",), name="other")
    assert fingerprint(renamed) == fingerprint(first)
