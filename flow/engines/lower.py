"""From nodes to cones: which nodes share a cone, and the integer operations that compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flow.engines.adder_graph import solve_matrix
from flow.engines.adders import AdderGraph, check_graph
from flow.engines.cone import Cone, ConeBuilder, Port
from flow.engines.rounding import one_signed, rounding_offset
from flow.engines.sums import Products, Term, add_balanced, signed_digits
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import Affine, Dense, Quantize, Relu, Reshape

Solve = Callable[[IntArray, int, int], AdderGraph]
"""Build `x @ matrix` from (matrix, lowest x, highest x)."""

ELEMENTWISE = (Affine, Quantize, Relu, Reshape)


def runs(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Group the nodes, without inputs, into the runs that become one cone each, in topological order.

    A run is a node and the elementwise nodes behind it, up to an output that leaves: one that is read twice or
    belongs to the graph's outputs.
    """
    found: list[list[str]] = []
    run_ending_at: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.kind == "input":
            continue
        source = node.inputs[0]
        run = run_ending_at.get(source)
        leaves = source in graph.outputs or len(graph.consumers(source)) > 1
        if run is not None and isinstance(node, ELEMENTWISE) and not leaves:
            run.append(node.name)
            del run_ending_at[source]
        else:
            run = [node.name]
            found.append(run)
        run_ending_at[node.name] = run
    return tuple(tuple(run) for run in found)


def lower_graph(graph: Graph, groups: tuple[tuple[str, ...], ...], *, solve: Solve = solve_matrix) -> tuple[Cone, ...]:
    """Lower runs in topological order; each cone knows the range that the cones before it really produce."""
    ranges: dict[str, tuple[int, int]] = {}
    cones = []
    for run in groups:
        cone = lower(graph, run, solve=solve, ranges=ranges)
        ranges[run[-1]] = cone.output_range
        cones.append(cone)
    return tuple(cones)


def lower(
    graph: Graph,
    run: tuple[str, ...],
    *,
    solve: Solve = solve_matrix,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> Cone:
    """Build the cone of a run, bit-exact with its nodes' `evaluate`.

    solve: builds the adder graphs of constant matrix products. ranges: (lo, hi) of edges, where more is known than
    their types. Raises VerificationError when a solved graph is wrong.
    """
    nodes = tuple(graph.node(name) for name in run)
    edges = tuple(dict.fromkeys(name for node in nodes for name in node.inputs if name not in run))
    ports = tuple(Port(edge, graph.node(edge).size, *_edge_range(graph, edge, ranges or {})) for edge in edges)
    builder = ConeBuilder(run[-1], ports)
    values = {
        edge: tuple(Sum((Term(builder.read(port, k)),)) for k in range(ports[port].size))
        for port, edge in enumerate(edges)
    }
    for node in nodes:
        (source,) = graph.feeding(node)
        if isinstance(node, Dense):
            values[node.name] = _lower_dense(builder, node, values[source.name], source.type, solve)
        else:
            values[node.name] = lower_elementwise(builder, node, values[source.name], source.type)
    return builder.finish(tuple(total(builder, element) for element in values[run[-1]]))


def _edge_range(graph: Graph, edge: str, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    node: Node = graph.node(edge)
    while node.name not in ranges and isinstance(node, Reshape):
        node = graph.node(node.inputs[0])  # a reshape's own modes say nothing about its values
    return ranges.get(node.name, (node.type.lo, node.type.hi))


@dataclass(frozen=True, slots=True)
class Sum:
    """Stand for an element whose last additions are still open: all terms plus a constant.

    Whatever adds a constant next (a bias, a rounding) joins the same adder tree.
    """

    terms: tuple[Term, ...]
    constant: int = 0

    def up(self, bits: int) -> Sum:
        """Return this sum times `2**bits`."""
        return Sum(tuple(term.times(bits) for term in self.terms), self.constant << bits)

    def plus(self, constant: int) -> Sum:
        """Return this sum plus a constant."""
        return Sum(self.terms, self.constant + constant)


def sum_range(builder: ConeBuilder, element: Sum) -> tuple[int, int]:
    """Return the bounds of a sum."""
    return builder.sum_range(((t.value, t.shift, t.negative) for t in element.terms), element.constant)


def total(builder: ConeBuilder, element: Sum) -> int:
    """Append the additions of a sum; the constant enters the tree where it delays least."""
    parts = list(element.terms)
    if element.constant or not parts:
        parts.append(Term(builder.constant(element.constant)))
    result = add_balanced(builder, parts)
    assert result is not None
    value = builder.shift(result.value, result.shift)
    return builder.negate(value) if result.negative else value


def limited(builder: ConeBuilder, element: Sum, target: FixedType) -> Sum:
    """Bring a sum into the range of a type; it stays open where its range shows that it fits."""
    lo, hi = sum_range(builder, element)
    if target.lo <= lo and hi <= target.hi:
        return element
    return Sum((Term(builder.limit(total(builder, element), target)),))


def rounded_off(builder: ConeBuilder, element: Sum, bits: int, mode: Rounding) -> Sum:
    """Divide a sum by `2**bits` (which may be below 1), rounded to an integer by `mode`."""
    if bits <= 0:
        return element.up(-bits)
    lo, hi = sum_range(builder, element)
    mode = one_signed(mode, lo=lo, hi=hi)
    zeros = min((term.shift for term in element.terms), default=bits)
    if mode in {Rounding.TRN_ZERO, Rounding.RND_ZERO, Rounding.RND_INF}:
        return Sum((Term(builder.round(total(builder, element), bits, mode)),))
    element = element.plus(rounding_offset(mode, bits))
    # below the lowest bit of all terms only the constant counts: known zeros or a known fraction
    zeros = min(zeros, bits - 1 if mode is Rounding.RND_CONV else bits)
    fraction = element.constant & ((1 << zeros) - 1)
    if fraction and mode is Rounding.RND_CONV:
        mode = Rounding.RND  # never a tie
    down = tuple(Term(term.value, term.shift - zeros, term.negative) for term in element.terms)
    element, bits = Sum(down, element.constant >> zeros), bits - zeros
    if bits == 0:
        return element
    return Sum((Term(builder.round_prepared(total(builder, element), bits, mode)),))


def assigned(builder: ConeBuilder, element: Sum, fraction: int, target: FixedType) -> Sum:
    """Assign a sum with `fraction` fraction bits to a type."""
    return limited(builder, rounded_off(builder, element, fraction - target.fraction, target.rounding), target)


def _lower_dense(
    builder: ConeBuilder, node: Dense, elements: tuple[Sum, ...], source: FixedType, solve: Solve
) -> tuple[Sum, ...]:
    inputs = tuple(total(builder, element) for element in elements)
    if node.is_linear(source):
        sums = _matrix_product(builder, node, inputs, source, solve)
    else:
        sums = _products_in_order(builder, node, inputs, source)
    return tuple(assigned(builder, s, node.accumulator.fraction, node.type) for s in sums)


def lower_elementwise(
    builder: ConeBuilder, node: Node, elements: tuple[Sum, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return what a node makes of each of the elements, whose type is `source`."""
    match node:
        case Quantize():
            return tuple(assigned(builder, element, source.fraction, node.type) for element in elements)
        case Relu():
            rectify = _rectified if node.slope_type is None else _leaky
            return tuple(rectify(builder, node, element, source) for element in elements)
        case Affine():
            return _scaled(builder, node, elements, source)
        case Reshape():
            return elements
        case _:
            raise TypeError(f"node '{node.name}' ({type(node).__name__}) has no unrolled form")


def _matrix_product(
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType, solve: Solve
) -> tuple[Sum, ...]:
    """Return bias + inputs @ weights in the accumulator's format."""
    ranges = [builder.range(value) for value in inputs]
    graph = solve(node.weights, min(lo for lo, _ in ranges), max(hi for _, hi in ranges))
    check_graph(graph, node.weights)
    fan_out = graph.fan_out()
    values: dict[int, Term] = {k: Term(value) for k, value in enumerate(inputs)}

    def leaves(value: int) -> tuple[Term, ...]:
        return tuple(
            values[leaf.value].times(leaf.shift, negative=leaf.negative) for leaf in graph.leaves(value, fan_out)
        )

    for value in range(len(inputs), len(inputs) + len(graph.adders)):
        if fan_out[value] > 1:
            shared = add_balanced(builder, leaves(value))
            assert shared is not None
            values[value] = shared
    up = node.accumulator.fraction - source.fraction - node.weight_type.fraction
    sums = []
    for term, start in zip(graph.outputs, node.start, strict=True):
        if term is None:
            terms: tuple[Term, ...] = ()
        elif term.value in values:
            terms = (values[term.value],)
        else:
            terms = leaves(term.value)
        scale = (0, False) if term is None else (term.shift + up, term.negative)
        terms = tuple(t.times(scale[0], negative=scale[1]) for t in terms)
        sums.append(limited(builder, Sum(terms, int(start)), node.accumulator))
    return tuple(sums)


def _products_in_order(
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return the accumulators after assigning each product to their type and adding in the order of the inputs."""
    accumulator = node.accumulator
    fraction = source.fraction + node.weight_type.fraction
    products = Products(builder)
    terms: list[list[Sum]] = [[] for _ in range(node.n_out)]
    for i, value in enumerate(inputs):
        row = [int(w) for w in node.weights[i]]
        assigned_products = {0: Sum(())}
        for w in sorted(set(row) - {0}, key=lambda w: (len(signed_digits(w)), abs(w), w)):
            product = Sum((products.times(value, w),))
            if accumulator.overflow is Overflow.WRAP:  # sums modulo a power of two: the last wrap does it all
                drop = fraction - accumulator.fraction
                assigned_products[w] = rounded_off(builder, product, drop, accumulator.rounding)
            else:
                assigned_products[w] = assigned(builder, product, fraction, accumulator)
        for j, w in enumerate(row):
            terms[j].append(assigned_products[w])
    return tuple(
        _accumulated(builder, accumulator, int(start), column) for start, column in zip(node.start, terms, strict=True)
    )


def _accumulated(builder: ConeBuilder, accumulator: FixedType, start: int, terms: list[Sum]) -> Sum:
    ranges = [sum_range(builder, term) for term in terms]
    lo = start + sum(min(low, 0) for low, _ in ranges)
    hi = start + sum(max(high, 0) for _, high in ranges)
    if accumulator.overflow is Overflow.WRAP or (accumulator.lo <= lo and hi <= accumulator.hi):
        open_terms = tuple(t for term in terms for t in term.terms)
        return limited(builder, Sum(open_terms, start + sum(term.constant for term in terms)), accumulator)
    result = Sum((), start)
    for term in terms:
        result = limited(builder, Sum(result.terms + term.terms, result.constant + term.constant), accumulator)
    return result


def _rectified(builder: ConeBuilder, node: Relu, element: Sum, source: FixedType) -> Sum:
    """Return the assignment of positive elements, else 0.

    Rounding keeps the order and 0, so that rounding first and then looking at the sign gives the same: the modes may
    treat negative elements as they like, and a saturating assignment to an unsigned integer does both at once.
    """
    target = node.type
    mode = one_signed(target.rounding, lo=0, hi=0)
    value = total(builder, rounded_off(builder, element, source.fraction - target.fraction, mode))
    zero = builder.constant(0)
    if target.overflow in {Overflow.SAT, Overflow.SAT_SYM} and builder.range(value)[1] > target.hi > 0:
        bits = target.hi.bit_length()
        return Sum((Term(builder.limit(value, FixedType(bits, bits, signed=False, overflow=Overflow.SAT))),))
    return Sum((Term(builder.limit(builder.select(value, value, zero), target)),))


def _leaky(builder: ConeBuilder, node: Relu, element: Sum, source: FixedType) -> Sum:
    """Return the assignment of positive elements, else that of their product with the slope."""
    assert node.slope_type is not None
    value = total(builder, element)
    positive = builder.cast(value, source.fraction, node.type)
    product = Sum((Products(builder).times(value, node.slope),)) if node.slope else Sum(())
    other = assigned(builder, product, source.fraction + node.slope_type.fraction, node.type)
    return Sum((Term(builder.select(value, positive, total(builder, other))),))


def _scaled(builder: ConeBuilder, node: Affine, elements: tuple[Sum, ...], source: FixedType) -> tuple[Sum, ...]:
    """Return each element times its channel's scale plus its bias, assigned to the node's type."""
    products = Products(builder)
    product_fraction = source.fraction + node.scale_type.fraction
    fraction = max(product_fraction, node.bias_type.fraction)
    results = []
    for k, element in enumerate(elements):
        scale, bias = int(node.scale[k % node.shape[-1]]), int(node.bias[k % node.shape[-1]])
        closed = element if len(element.terms) <= 1 else Sum((Term(total(builder, element)),))
        terms = tuple(
            products.times(term.value, scale).times(term.shift, negative=term.negative)
            for term in closed.terms
            if scale
        )
        scaled = Sum(terms, closed.constant * scale).up(fraction - product_fraction)
        biased = scaled.plus(bias << (fraction - node.bias_type.fraction))
        results.append(assigned(builder, biased, fraction, node.type))
    return tuple(results)
