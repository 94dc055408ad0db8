"""Graphs of shared adders: the type, its exact check, and how to build and balance one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flow.engines.cone import ADDER_DELAY, Add
from flow.engines.linear_form import LinearForm
from flow.engines.sums import Products, Term, add_balanced, signed_digits
from flow.engines.widths import signed_width
from flow.errors import VerificationError
from flow.fixed import IntArray


@dataclass(frozen=True, slots=True)
class AdderGraph:
    """Compute `x @ matrix` by additions of shifted values.

    Values 0…n_in−1 are the inputs, value n_in + k is the result of adders[k]. outputs: one term per column, None
    for a column of zeros.
    """

    n_in: int
    adders: tuple[Add, ...]
    outputs: tuple[Term | None, ...]

    def depth(self) -> int:
        """Return the largest number of adders in a row."""
        level = [0] * (self.n_in + len(self.adders))
        for k, add in enumerate(self.adders, start=self.n_in):
            level[k] = max(level[add.a], level[add.b]) + 1
        return max((level[term.value] for term in self.outputs if term is not None), default=0)

    def fan_out(self) -> tuple[int, ...]:
        """Return how often each value is read, by adders and outputs."""
        reads = [0] * (self.n_in + len(self.adders))
        for add in self.adders:
            reads[add.a] += 1
            reads[add.b] += 1
        for term in self.outputs:
            if term is not None:
                reads[term.value] += 1
        return tuple(reads)

    def leaves(self, value: int, fan_out: Sequence[int]) -> tuple[Term, ...]:
        """Return the terms whose sum is `value`: its tree, opened down to inputs and values that others read too."""
        found: list[Term] = []
        open_terms = [Term(value)]
        while open_terms:
            term = open_terms.pop()
            if term.value < self.n_in or (term.value != value and fan_out[term.value] > 1):
                found.append(term)
                continue
            add = self.adders[term.value - self.n_in]
            open_terms.append(Term(add.b, add.shift_b, add.subtract).times(term.shift, negative=term.negative))
            open_terms.append(Term(add.a, add.shift_a).times(term.shift, negative=term.negative))
        return tuple(found)


def check_graph(graph: AdderGraph, matrix: IntArray) -> None:
    """Compare a graph with its matrix over the integers, coefficient by coefficient.

    Raises VerificationError when they differ or the graph is not well formed.
    """
    n_in, n_out = matrix.shape
    if graph.n_in != n_in or len(graph.outputs) != n_out:
        raise VerificationError(
            f"an adder graph has {graph.n_in}×{len(graph.outputs)} ends, its matrix is {n_in}×{n_out}"
        )
    longest = 64 + max((abs(int(w)).bit_length() for w in matrix.flat), default=0)
    forms = [LinearForm.of_element(n_in, i) for i in range(n_in)]
    for add in graph.adders:
        bad_index = not (0 <= add.a < len(forms) and 0 <= add.b < len(forms))
        if bad_index or not (0 <= add.shift_a <= longest and 0 <= add.shift_b <= longest):
            raise VerificationError(f"adder {len(forms)} of an adder graph is not well formed: {add}")
        forms.append(forms[add.a].plus(forms[add.b], shift_a=add.shift_a, shift_b=add.shift_b, subtract=add.subtract))
    for column, term in enumerate(graph.outputs):
        if term is None:
            found = np.zeros(n_in, dtype=object)
        elif not (0 <= term.value < len(forms) and 0 <= term.shift <= longest):
            raise VerificationError(f"output {column} of an adder graph is not well formed: {term}")
        else:
            found = forms[term.value].coefficients.astype(object) * ((-1 if term.negative else 1) << term.shift)
        if not np.array_equal(found, matrix[:, column].astype(object)):
            raise VerificationError(f"output {column} of an adder graph differs from its matrix column")


class GraphBuilder:
    """Append adders; equal sums, up to sign and shift, become one value."""

    def __init__(self, n_in: int, lo: int, hi: int) -> None:
        self._span = ((n_in, lo, hi),)
        self.n_in = n_in
        self.adders: list[Add] = []
        self._forms = [LinearForm.of_element(n_in, i) for i in range(n_in)]
        self._arrivals = [0] * n_in
        self._ranges = [(lo, hi)] * n_in
        self._known = {form: k for k, form in enumerate(self._forms)}

    def range(self, value: int) -> tuple[int, int]:
        """Return the bounds of a value."""
        return self._ranges[value]

    def arrival(self, value: int) -> int:
        """Return when a value is ready, in the unit of `ADDER_DELAY`."""
        return self._arrivals[value]

    def add(self, a: int, b: int, *, shift_a: int = 0, shift_b: int = 0, subtract: bool = False) -> int:
        """Append `(a << shift_a) ± (b << shift_b)`."""
        form = self._forms[a].plus(self._forms[b], shift_a=shift_a, shift_b=shift_b, subtract=subtract)
        known = self._known.get(form)
        if known is None:
            known = self._known[form] = len(self._forms)
            self.adders.append(Add(a, b, shift_a, shift_b, subtract))
            self._forms.append(form)
            self._ranges.append(form.bounds(self._span))
            ready = max(self._arrivals[a], self._arrivals[b])
            self._arrivals.append(ready + ADDER_DELAY + signed_width(*self._ranges[known]))
        return known

    def finish(self, outputs: Sequence[Term | None]) -> AdderGraph:
        """Return the graph with the adders that the outputs need."""
        needed = {term.value for term in outputs if term is not None}
        for k in range(len(self.adders) - 1, -1, -1):
            if k + self.n_in in needed:
                needed |= {self.adders[k].a, self.adders[k].b}
        new = {k: k for k in range(self.n_in)}
        kept: list[Add] = []
        for k, add in enumerate(self.adders, start=self.n_in):
            if k in needed:
                new[k] = self.n_in + len(kept)
                kept.append(Add(new[add.a], new[add.b], add.shift_a, add.shift_b, add.subtract))
        terms = tuple(None if t is None else Term(new[t.value], t.shift, t.negative) for t in outputs)
        return AdderGraph(self.n_in, tuple(kept), terms)


def adder_bits(graph: AdderGraph, lo: int, hi: int) -> int:
    """Return the full-adder bits of a graph; low bits that are just the other operand's cost nothing."""
    builder = GraphBuilder(graph.n_in, lo, hi)
    bits = 0
    for add in graph.adders:
        value = builder.add(add.a, add.b, shift_a=add.shift_a, shift_b=add.shift_b, subtract=add.subtract)
        free = add.shift_b if add.subtract else max(add.shift_a, add.shift_b)
        bits += max(signed_width(*builder.range(value)) - free, 1)
    return bits


def balanced(graph: AdderGraph, lo: int, hi: int) -> AdderGraph:
    """Rebuild every tree that nobody else reads into, by arrival; the number of adders stays."""
    builder = GraphBuilder(graph.n_in, lo, hi)
    fan_out = graph.fan_out()
    ends = {term.value for term in graph.outputs if term is not None}
    built = {k: Term(k) for k in range(graph.n_in)}
    for k in range(graph.n_in, graph.n_in + len(graph.adders)):
        if fan_out[k] > 1 or k in ends:
            leaves = [built[t.value].times(t.shift, negative=t.negative) for t in graph.leaves(k, fan_out)]
            total = add_balanced(builder, leaves)
            assert total is not None
            built[k] = total
    return builder.finish(
        [None if t is None else built[t.value].times(t.shift, negative=t.negative) for t in graph.outputs]
    )


def plain_graph(matrix: IntArray, lo: int, hi: int) -> AdderGraph:
    """Build a product without search: constant products shared per input, then a balanced tree per column."""
    n_in, n_out = matrix.shape
    builder = GraphBuilder(n_in, lo, hi)
    products = Products(builder)
    terms: list[list[Term]] = [[] for _ in range(n_out)]
    for i in range(n_in):
        row = [int(w) for w in matrix[i]]
        for j in sorted(range(n_out), key=lambda j: (len(signed_digits(row[j])), abs(row[j]), j)):
            if row[j]:
                terms[j].append(products.times(i, row[j]))
    return builder.finish([add_balanced(builder, column) for column in terms])
