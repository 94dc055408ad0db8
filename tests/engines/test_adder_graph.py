"""Adder graphs equal their matrices, and a wrong one is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import alkaid.cmvm
import numpy as np
import pytest

from flow.engines import adder_graph
from flow.engines.adder_graph import cache_folder, digit_count, solve_matrix
from flow.engines.adders import AdderGraph, GraphBuilder, adder_bits, balanced, check_graph, plain_graph
from flow.engines.cone import Add
from flow.engines.sums import Products, Term, signed_digits
from flow.errors import VerificationError
from flow.fixed import IntArray


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FPGAFLOW_CACHE", str(tmp_path))
    return tmp_path


def random_matrix(seed: int, *, bits: int = 6, shape: tuple[int, int] = (8, 6)) -> IntArray:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)
    matrix[rng.random(shape) < 0.2] = 0
    return matrix


def special_matrices() -> dict[str, IntArray]:
    rng = np.random.default_rng(7)
    base = random_matrix(1)
    return {
        "zeros": np.zeros((3, 2), dtype=np.int64),
        "zero row and column": base * np.array([0, 1, 1, 1, 1, 1, 1, 1])[:, None] * np.array([1, 0, 1, 1, 1, 1]),
        "identity": np.eye(4, dtype=np.int64),
        "negated": -np.eye(4, dtype=np.int64)[::-1] * 8,
        "single input": np.array([[1, 3, -5, 7, 0, 96, -96, 45]]),
        "single output": random_matrix(2, shape=(9, 1)),
        "all negative": -np.abs(base) - 1,
        "ternary": rng.integers(-1, 2, (12, 9)),
        "binary": rng.choice([-1, 1], (12, 9)),
        "powers": 1 << rng.integers(0, 12, (6, 6)),
        "copies": np.stack([base[:, 0], base[:, 0] * 4, -base[:, 0], -base[:, 0] * 2, base[:, 1], base[:, 0]], axis=1),
        "sums of columns": np.stack([base[:, 0], base[:, 1], base[:, 0] + base[:, 1], base[:, 0] - base[:, 1]], axis=1),
        "16 bits": random_matrix(3, bits=16),
        "24 bits": random_matrix(4, bits=25, shape=(5, 4)),
        "rows of other scales": random_matrix(5) << (4 * np.arange(8))[:, None],
        "40 bits": random_matrix(6, bits=40, shape=(4, 3)),
        "80 bits": random_matrix(8, bits=40, shape=(4, 3)).astype(object) * (1 << 40) + 12345,
    }


@pytest.mark.parametrize("name", special_matrices())
@pytest.mark.parametrize("span", [(-128, 127), (0, 1), (-(1 << 40), 1 << 40), (5, 5)])
def test_special_matrices(name: str, span: tuple[int, int]) -> None:
    matrix = special_matrices()[name]
    check_graph(solve_matrix(matrix, *span), matrix)
    check_graph(plain_graph(matrix, *span), matrix)


@pytest.mark.parametrize("seed", range(3))
def test_search_shares_and_balances(seed: int) -> None:
    matrix = random_matrix(seed, shape=(16, 12))
    found, plain = solve_matrix(matrix, -128, 127), plain_graph(matrix, -128, 127)
    assert len(found.adders) < 0.9 * len(plain.adders)
    assert found.depth() <= plain.depth()
    again = balanced(found, -128, 127)
    check_graph(again, matrix)
    assert len(again.adders) <= len(found.adders)
    smaller = solve_matrix(matrix, -128, 127, delay_cap=2)
    assert adder_bits(smaller, -128, 127) <= adder_bits(found, -128, 127)
    assert smaller.depth() <= found.depth() + 2


def test_equal_columns_cost_nothing() -> None:
    matrix = special_matrices()["copies"]
    assert len(solve_matrix(matrix, 0, 63).adders) == len(solve_matrix(matrix[:, [0, 4]], 0, 63).adders)


def test_wide_weights_never_reach_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kernel: IntArray, **_options: object) -> None:
        raise AssertionError(f"{np.abs(kernel).max()} went to the solver")

    monkeypatch.setattr(alkaid.cmvm, "cmvm_solve", refuse)
    matrix = np.array([[(1 << 24) + 1, 3], [5, (1 << 25) - 3]])
    check_graph(solve_matrix(matrix, -8, 7), matrix)
    with pytest.raises(AssertionError, match="went to the solver"):
        solve_matrix(np.array([[(1 << 24) - 1, 3], [5, (1 << 23) - 3]]), -8, 7)


def test_large_matrices_are_solved_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adder_graph, "WIDE_SEARCH_DIGITS", 20)
    monkeypatch.setattr(adder_graph, "BLOCK_DIGITS", 40)
    matrix = random_matrix(11, shape=(8, 9))
    assert digit_count(matrix) > 80
    check_graph(solve_matrix(matrix, 0, 255), matrix)


CORRUPTIONS = {
    "shift": lambda g: _with_adder(g, 5, shift_a=g.adders[5].shift_a + 1),
    "negative shift": lambda g: _with_adder(g, 5, shift_b=-1),
    "giant shift": lambda g: _with_adder(g, 5, shift_b=1 << 40),
    "sign": lambda g: _with_adder(g, 7, subtract=not g.adders[7].subtract),
    "index": lambda g: _with_adder(g, 9, a=(g.adders[9].a + 1) % g.n_in),
    "later index": lambda g: _with_adder(g, 3, a=g.n_in + 4),
    "own index": lambda g: _with_adder(g, 3, a=g.n_in + 3),
    "negative index": lambda g: _with_adder(g, 3, a=-1),
    "output shift": lambda g: _with_output(g, replace(g.outputs[0], shift=g.outputs[0].shift + 1)),
    "output sign": lambda g: _with_output(g, replace(g.outputs[0], negative=not g.outputs[0].negative)),
    "output index": lambda g: _with_output(g, replace(g.outputs[0], value=g.n_in + len(g.adders))),
    "output missing": lambda g: _with_output(g, None),
    "output dropped": lambda g: replace(g, outputs=g.outputs[:-1]),
    "inputs": lambda g: replace(g, n_in=g.n_in + 1),
}


def _with_adder(graph: AdderGraph, k: int, **changes: int) -> AdderGraph:
    adders = list(graph.adders)
    adders[k] = replace(adders[k], **changes)
    return replace(graph, adders=tuple(adders))


def _with_output(graph: AdderGraph, term: Term | None) -> AdderGraph:
    return replace(graph, outputs=(term, *graph.outputs[1:]))


@pytest.mark.parametrize("fault", CORRUPTIONS)
def test_a_corrupt_graph_is_found(fault: str) -> None:
    matrix = random_matrix(21)
    graph = plain_graph(matrix, -8, 7)
    check_graph(graph, matrix)
    with pytest.raises(VerificationError):
        check_graph(CORRUPTIONS[fault](graph), matrix)


@pytest.mark.parametrize("k", range(8))
def test_a_flipped_weight_is_found(k: int) -> None:
    matrix = random_matrix(22)
    wrong = matrix.copy()
    wrong[k, k % 6] ^= 1 << (k % 5)
    with pytest.raises(VerificationError):
        check_graph(solve_matrix(wrong, -8, 7), matrix)


def test_sums_modulo_2_64_do_not_pass() -> None:
    graph = AdderGraph(1, (Add(0, 0, 64, 0),), (Term(1),))
    with pytest.raises(VerificationError):
        check_graph(graph, np.array([[1]]))


@pytest.mark.parametrize("what", ["sign", "shift", "operation"])
def test_a_wrong_answer_of_the_solver_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = alkaid.cmvm.cmvm_solve

    def wrong(*args: object, **options: object) -> object:
        programs = list(right(*args, **options))
        ops = list(programs[0].ops)
        op = ops[-1]
        assert op.opcode in (0, 1)
        ops[-1] = {
            "sign": op._replace(opcode=1 - op.opcode),
            "shift": op._replace(data=(op.data[0] + 1,)),
            "operation": op._replace(opcode=7),
        }[what]
        programs[0] = programs[0]._replace(ops=ops)
        return tuple(programs)

    monkeypatch.setattr(alkaid.cmvm, "cmvm_solve", wrong)
    monkeypatch.setattr(adder_graph, "WIDE_SEARCH_DIGITS", 0)
    with pytest.raises(VerificationError):
        solve_matrix(random_matrix(23), -8, 7)


def _entry() -> Path:
    (entry,) = cache_folder().iterdir()
    return entry


def _truncate(text: str) -> str:
    return text[: len(text) // 2]


def _flip_sign(text: str) -> str:
    return text.replace('"subtract":true', '"subtract":false', 1)


def _raise_shift(text: str) -> str:
    stored = json.loads(text)
    stored["graph"]["adders"][4]["shift_a"] += 1
    return json.dumps(stored)


def _other_index(text: str) -> str:
    stored = json.loads(text)
    stored["graph"]["adders"][4]["a"] = 10**6
    return json.dumps(stored)


@pytest.mark.parametrize(
    "damage", [_truncate, _flip_sign, _raise_shift, _other_index, lambda _text: "", lambda _: "[]"]
)
def test_a_corrupt_cache_entry_is_solved_again(damage) -> None:
    matrix = random_matrix(31)
    graph = solve_matrix(matrix, -8, 7)
    entry = _entry()
    good = entry.read_text()
    entry.write_text(damage(good))
    assert entry.read_text() != good
    assert solve_matrix(matrix, -8, 7) == graph
    assert _entry().read_text() == good


def test_the_cache_is_used_and_keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_matrix(32)
    graph = solve_matrix(matrix, -8, 7)
    monkeypatch.setattr(adder_graph, "_search", lambda *_: pytest.fail("searched"))
    assert solve_matrix(matrix, -8, 7) == graph
    for other in (lambda: solve_matrix(matrix, -8, 8), lambda: solve_matrix(matrix, -8, 7, delay_cap=1)):
        with pytest.raises(pytest.fail.Exception, match="searched"):
            other()
    monkeypatch.setattr(adder_graph, "version", lambda _name: "another")
    with pytest.raises(pytest.fail.Exception, match="searched"):
        solve_matrix(matrix, -8, 7)


def test_a_cache_that_cannot_be_written_is_only_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("FPGAFLOW_CACHE", str(file))
    matrix = random_matrix(33)
    check_graph(solve_matrix(matrix, -8, 7), matrix)


def test_the_default_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FPGAFLOW_CACHE")
    assert cache_folder().parts[-2:] == ("fpgaflow", "adder_graphs")


def test_same_bytes_in_every_process(tmp_path: Path) -> None:
    script = (
        "import numpy as np; from flow.engines.adder_graph import solve_matrix;"
        "m = np.random.default_rng(5).integers(-32, 32, (12, 10)); print(solve_matrix(m, 0, 63))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "FPGAFLOW_CACHE": str(tmp_path / seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_alkaid_is_imported_only_to_search() -> None:
    script = "import sys, flow.engines.lower; print('alkaid' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_signed_digits_are_minimal() -> None:
    for constant in range(-300, 301):
        digits = signed_digits(constant)
        assert sum((-1 if negative else 1) << position for position, negative in digits) == constant
        assert all(b - a >= 2 for (a, _), (b, _) in pairwise(digits))


def test_products_are_exact_and_shared() -> None:
    builder = GraphBuilder(1, -128, 127)
    products = Products(builder)
    constants = [c for c in range(-70, 71) if c]
    graph = builder.finish([products.times(0, c) for c in constants])
    check_graph(graph, np.array([constants]))
    assert len(graph.adders) <= 36  # odd magnitudes from 3 to 69 need at least 34
