"""Constant matrix products as graphs of shared adders: search, choice and cache.

alkaid's `cmvm_solve` searches (method: C. Sun et al., "da4ml: Distributed Arithmetic for Real-time Neural Networks on
FPGAs", 2025); what it returns is translated, balanced and compared exactly with the matrix.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from flow.engines.adders import AdderGraph, GraphBuilder, adder_bits, balanced, check_graph, plain_graph
from flow.engines.cone import ADDER_DELAY
from flow.engines.sums import Term, add_terms, odd_part, signed_digits
from flow.errors import VerificationError
from flow.fixed import IntArray

FORMAT = 1
SOLVER_WEIGHT_BITS = 24  # the solver's interface is float32
SOLVER_RANGE = 1 << 31  # ranges only weigh its choices; larger ones would lose meaning in float32

# The search takes about 5e-8 s × digits² on one core (32×32×8 bit: 2,800 digits; 64×64×8 bit: 11,400).
PLAIN_DIGITS = 300
WIDE_SEARCH_DIGITS = 3_000
BLOCK_DIGITS = 12_000

WIDE = (("mc", 0), ("wmc", 0), ("wmc-pdc", 0), ("mc", 1), ("mc", 2))
QUICK = (("mc", 0), ("wmc-pdc", 0))
"""Searches as (alkaid's pair selection, depth of its decomposition of columns into differences): those that were ever
best, after balancing, over two public networks and random matrices of 3 to 8 bits."""


def solve_matrix(matrix: IntArray, lo: int, hi: int, *, delay_cap: int = 0) -> AdderGraph:
    """Return a checked adder graph of `x @ matrix` for integers x in lo..hi, from the cache where it lies there.

    matrix: integers (n_in, n_out). delay_cap: how many adders in a row more than the shallowest graph that was found
    are allowed for a smaller one (on the public 6-bit jet tagger one more per layer saves 2 % LUTs and costs 10 %
    delay). Raises VerificationError when a search returns a wrong graph.
    """
    core, rows, columns = _core(matrix)
    key = _key(core, lo, hi, delay_cap)
    graph = _load(key, core)
    if graph is None:
        graph = _search(core, lo, hi, delay_cap)
        check_graph(graph, core)
        _store(key, graph)
    return _expanded(graph, matrix.shape[0], rows, columns)


def _core(matrix: IntArray) -> tuple[IntArray, tuple[int, ...], tuple[Term | None, ...]]:
    """Remove zero rows and columns, and columns that are ±2^n times another.

    Returns the smaller matrix, the original index of its rows, and each original column as a term of its columns.
    """
    full = matrix.astype(object)
    rows = tuple(i for i in range(full.shape[0]) if any(full[i]))
    seen: dict[tuple[int, ...], int] = {}
    columns: list[Term | None] = []
    for j in range(full.shape[1]):
        column = [int(full[i, j]) for i in rows]
        if not any(column):
            columns.append(None)
            continue
        zeros = min(odd_part(w)[1] for w in column if w)
        negative = next(w for w in column if w) < 0
        primitive = tuple((-w if negative else w) >> zeros for w in column)
        columns.append(Term(seen.setdefault(primitive, len(seen)), zeros, negative))
    core = np.array([list(column) for column in seen], dtype=object).reshape(len(seen), len(rows)).T
    return core, rows, tuple(columns)


def _expanded(core: AdderGraph, n_in: int, rows: Sequence[int], columns: Sequence[Term | None]) -> AdderGraph:
    """Undo `_core`."""
    more = n_in - core.n_in

    def place(value: int) -> int:
        return rows[value] if value < core.n_in else value + more

    adders = tuple(type(a)(place(a.a), place(a.b), a.shift_a, a.shift_b, a.subtract) for a in core.adders)
    outputs: list[Term | None] = []
    for column in columns:
        term = None if column is None else core.outputs[column.value]
        if column is None or term is None:
            outputs.append(None)
        else:
            outputs.append(
                Term(place(term.value), term.shift, term.negative).times(column.shift, negative=column.negative)
            )
    return AdderGraph(n_in, adders, tuple(outputs))


def digit_count(matrix: IntArray) -> int:
    """Return the number of signed digits of all weights: what search time and plain area grow with."""
    return sum(len(signed_digits(int(w))) for w in matrix.flat)


def _search(core: IntArray, lo: int, hi: int, delay_cap: int) -> AdderGraph:
    """Return the smallest graph among all candidates that are shallow enough."""
    candidates = list(_candidates(core, lo, hi))
    depth = min(graph.depth() for graph in candidates) + delay_cap
    return min((graph for graph in candidates if graph.depth() <= depth), key=lambda graph: adder_bits(graph, lo, hi))


def _candidates(core: IntArray, lo: int, hi: int) -> Iterator[AdderGraph]:
    digits = digit_count(core)
    widest = max((abs(int(w)).bit_length() for w in core.flat), default=0)
    if digits <= PLAIN_DIGITS or widest > SOLVER_WEIGHT_BITS:
        yield plain_graph(core, lo, hi)
    if digits == 0 or widest > SOLVER_WEIGHT_BITS:
        return
    blocks = np.array_split(np.arange(core.shape[1]), min(-(-digits // BLOCK_DIGITS), core.shape[1]))
    for method, cuts in WIDE if digits <= WIDE_SEARCH_DIGITS else QUICK:
        graphs = [_solved(core[:, block], lo, hi, method, cuts) for block in blocks]
        yield balanced(_side_by_side(graphs, lo, hi) if len(graphs) > 1 else graphs[0], lo, hi)


def _solved(matrix: IntArray, lo: int, hi: int, method: str, cuts: int) -> AdderGraph:
    from alkaid.cmvm import cmvm_solve

    n_in = matrix.shape[0]
    span = (float(max(lo, -SOLVER_RANGE)), float(min(hi, SOLVER_RANGE)), 1.0)
    solution = cmvm_solve(
        np.ascontiguousarray(matrix.astype(np.float32)),
        method0=method,
        decompose_dc=cuts,
        qintervals=[span if lo < hi else (-1.0, 1.0, 1.0)] * n_in,
        latencies=[0.0] * n_in,
        search_all_decompose_dc=False,
    )
    return translated(solution, n_in, lo, hi)


def _side_by_side(graphs: Sequence[AdderGraph], lo: int, hi: int) -> AdderGraph:
    """Join graphs over the same inputs; what they have in common is shared."""
    builder = GraphBuilder(graphs[0].n_in, lo, hi)
    outputs: list[Term | None] = []
    for graph in graphs:
        place = list(range(graph.n_in))
        for add in graph.adders:
            place.append(
                builder.add(place[add.a], place[add.b], shift_a=add.shift_a, shift_b=add.shift_b, subtract=add.subtract)
            )
        outputs += [None if t is None else Term(place[t.value], t.shift, t.negative) for t in graph.outputs]
    return builder.finish(outputs)


def translated(solution: Sequence[Any], n_in: int, lo: int, hi: int) -> AdderGraph:
    """Bring alkaid's chain of CombLogic programs (its docs: alir.md) into our form.

    There, operation k gives buf[a] ± buf[b]·2^data; opcode −1 copies an input, scaled by 2^inp_shift; the outputs of
    one program are the inputs of the next. Scales may be negative: they are carried beside the values.
    """
    builder = GraphBuilder(n_in, lo, hi)
    feeding: list[Term | None] = [Term(i) for i in range(n_in)]
    for program in solution:
        values: list[Term | None] = []
        for op in program.ops:
            if op.opcode == -1:
                source = feeding[op.data[0]]
                values.append(None if source is None else source.times(int(program.inp_shifts[op.data[0]])))
                continue
            if op.opcode not in (0, 1):
                raise VerificationError(f"the adder graph search returned operation {op.opcode}, which is no addition")
            a, b = values[op.addr[0]], values[op.addr[1]]
            if b is not None:
                b = b.times(int(op.data[0]), negative=op.opcode == 1)
            values.append(add_terms(builder, a, b) if a is not None and b is not None else a or b)
        feeding = []
        for index, shift, negative in zip(program.out_idxs, program.out_shifts, program.out_negs, strict=True):
            value = None if index < 0 else values[index]
            feeding.append(None if value is None else value.times(int(shift), negative=bool(negative)))
    return builder.finish(feeding)


@dataclass(frozen=True, slots=True)
class _Stored:
    graph: AdderGraph


@cache
def _adapter() -> TypeAdapter[_Stored]:
    return TypeAdapter(_Stored)


def cache_folder() -> Path:
    """Return where solved graphs lie: below $FPGAFLOW_CACHE, or the user's cache folder."""
    import platformdirs

    root = os.environ.get("FPGAFLOW_CACHE")
    return (Path(root) if root else Path(platformdirs.user_cache_dir("fpgaflow"))) / "adder_graphs"


def _key(core: IntArray, lo: int, hi: int, delay_cap: int) -> str:
    content = [FORMAT, version("alkaid"), core.tolist(), lo, hi, delay_cap, ADDER_DELAY, WIDE, QUICK]
    return sha256(json.dumps(content).encode()).hexdigest()


def _load(key: str, core: IntArray) -> AdderGraph | None:
    """Return a stored graph that is right for the matrix, else None."""
    try:
        graph = _adapter().validate_json((cache_folder() / f"{key}.json").read_bytes()).graph
        check_graph(graph, core)
    except (OSError, ValidationError, VerificationError):
        return None
    return graph


def _store(key: str, graph: AdderGraph) -> None:
    """Write a graph in one step; a cache that cannot be written is only slower."""
    folder = cache_folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
            file.write(_adapter().dump_json(_Stored(graph)))
        Path(file.name).replace(folder / f"{key}.json")
