"""Plans that are pinned by hand: what the user's table `[pins.NODE]` allows a node to become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from pydantic import ConfigDict

from flow.engines.engine import Choice, Streamed, Unrolled
from flow.engines.folded import Multiplier, Order, Store
from flow.errors import UserError, nearest
from flow.graph.graph import Graph
from flow.graph.nodes import Dense
from flow.plan.accepted import Count


@dataclass(frozen=True, slots=True)
class Pin:
    """Hold what one node must become; None leaves a parameter to the planner.

    engine: of the run that holds the node: one cone, shared multipliers, or either of them beat by beat. reuse_factor,
    order, p, q, store, multiplier: of shared multipliers, as `Folded` has them (a cone has reuse factor 1). depth:
    registers of a cone, in cycles. products, tables: where those of a cone stand. Of a streamed engine it is what
    computes one beat that these parameters are asked of.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    engine: Literal["unrolled", "folded", "streamed"] | None = None
    reuse_factor: Count | None = None
    order: Order | None = None
    p: Count | None = None
    q: Count | None = None
    store: Store | None = None
    multiplier: Multiplier | None = None
    depth: Count | None = None
    products: Literal["lut", "dsp"] | None = None
    tables: Literal["lut", "bram"] | None = None

    def __post_init__(self) -> None:
        for name, least in (("reuse_factor", 1), ("p", 1), ("q", 1), ("depth", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} = {value} is not possible; write at least {least}")
        if not self.asked:
            raise ValueError(f"pins nothing; write one of {', '.join(f.name for f in fields(Pin))}")
        folds, unrolls = sorted(self.asked.keys() & FOLDS), sorted(self.asked.keys() & UNROLLS)
        if (self.reuse_factor or 1) > 1:
            folds.append("reuse_factor above 1")
        if folds and unrolls:
            raise ValueError(f"{folds[0]} is of shared multipliers and {unrolls[0]} of a cone; keep one of them")
        if self.engine == "unrolled" and folds:
            raise ValueError(f"an unrolled engine has no {folds[0]}; write engine = 'folded'")
        if self.engine == "folded" and unrolls:
            raise ValueError(f"a folded engine has no {unrolls[0]}; write engine = 'unrolled'")

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Pin | None:
        """Return a pin, None where nothing is asked."""
        return cls(**asked) if asked else None

    @property
    def asked(self) -> dict[str, Any]:
        """Return what is pinned, by name."""
        return {f.name: value for f in fields(Pin) if (value := getattr(self, f.name)) is not None}

    def takes(self, choice: Choice, *, depth: bool = False) -> bool:
        """Tell whether a choice is what is pinned; depth: its registers too, which are placed after all else."""
        return all(_is(choice, name, value) for name, value in self.asked.items() if depth or name != "depth")


FOLDS = frozenset({"order", "p", "q", "store", "multiplier"})
"""Parameters that only folded engines have."""
UNROLLS = frozenset({"depth", "products", "tables"})
"""Parameters that only cones have."""


def _is(choice: Choice, name: str, value: Any) -> bool:
    if name == "engine":
        return bool(choice.engine == value)
    inner = choice.inner if isinstance(choice, Streamed) else choice
    if name == "depth":
        return isinstance(inner, Unrolled) and inner.depth == value
    if name == "reuse_factor" and isinstance(inner, Unrolled):
        return bool(value == 1)
    return bool(getattr(inner, name, None) == value)


@dataclass(frozen=True, slots=True)
class Pins:
    """Hold the pins of a graph by node name."""

    by_node: Mapping[str, Pin] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, graph: Graph, asked: Mapping[str, Pin]) -> Pins:
        """Look up nodes by name or by the label of their layer; raise UserError for one that is not there.

        A layer of several nodes (a product and its activation) is pinned at the first of them.
        """
        found: dict[str, Pin] = {}
        for name, pin in asked.items():
            node = next((n for n in graph.nodes if name in {n.name, n.label} and n.kind != "input"), None)
            if node is None:
                known = {known for n in graph.nodes if n.kind != "input" for known in (n.name, n.label)}
                raise UserError(f"pins.{name}: {graph.name} has no such node; {nearest(name, known)}")
            if node.name in found:
                raise UserError(f"pins.{name}: node '{node.name}' is pinned twice, by its name and by its layer's")
            found[node.name] = pin
        return cls(MappingProxyType(found))

    def on(self, nodes: Iterable[str]) -> dict[str, Pin]:
        """Return the pins on some nodes."""
        return {name: self.by_node[name] for name in nodes if name in self.by_node}

    def inside(self) -> Pins:
        """Return the pins as they hold for what computes one beat of a streamed engine."""
        free = {
            name: Pin.of({k: v for k, v in pin.asked.items() if k != "engine"}) for name, pin in self.by_node.items()
        }
        return Pins(MappingProxyType({name: pin for name, pin in free.items() if pin is not None}))

    def reuse_factor(self, graph: Graph, run: tuple[str, ...]) -> int | None:
        """Return the reuse factor that is pinned for a run, also by its lanes; None where it is free."""
        for name, pin in self.on(run).items():
            node = graph.node(name)
            if pin.reuse_factor is not None:
                return pin.reuse_factor
            if pin.p is not None and pin.q is not None and isinstance(node, Dense):
                return -(-node.n_in // pin.p) * -(-node.n_out // pin.q)
        return None

    def places_registers(self) -> bool:
        """Tell whether the registers of any cone are pinned."""
        return any(pin.depth is not None for pin in self.by_node.values())

    def allows(self, *choices: Choice) -> bool:
        """Tell whether choices are what is pinned for the nodes that they hold, registers left out of account."""
        return not self.by_node or all(
            pin.takes(choice) for choice in choices for pin in self.on(choice.nodes).values()
        )


NO_PINS = Pins()
