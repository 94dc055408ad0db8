"""Which designs lie beside a plan, and what each of them costs: built as the plan is, and planned anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from flow.device.links import has_link, links
from flow.engines.engine import Choice, Streamed
from flow.engines.folded import Folded
from flow.engines.folded_choices import choices, reuse_factors
from flow.errors import UserError
from flow.graph.graph import Asked, Graph
from flow.graph.nodes import Conv, Dense
from flow.latency.budget import Verdict, judge, latency_of, required_interval
from flow.plan.pins import Pin
from flow.plan.plan import Plan
from flow.plan.planner import make_plan, target_of
from flow.plan.rebits import (
    CannotChangeError,
    activations_of,
    weights_of,
    with_activation_bits,
    with_weight_bits,
)
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Figures, Outcome, Variation, What, figures_of, found
from flow.plan.sensitivity.limits import number
from flow.plan.sensitivity.rebuild import CannotBuildError, Rebuild

CLOCKS = (0.8, 1.25)
"""Factors of the clock period: a clock 25 % faster, and 20 % slower."""
TIGHTER = (0.9, 0.75)
"""Shares of the total that are asked for as a budget, where the plan meets its own."""
LONG = 40
"""Characters from which what stands before a colon is a sentence by itself."""
STORE_NAMES = {"registers": "flip-flops", "lutrom": "LUT memory", "bram": "block RAM"}

Tell = Callable[[str, int, int], None]
"""Takes what is varied, and how many variations are done, of how many."""


@dataclass(frozen=True, slots=True)
class Change:
    """Describe a variation before it is computed.

    text: in short. words: what is to be done, as a sentence has it. graph, request: to plan anew; None where that has
    no sense, for the reason in `not_replanned`. build: computes it as built; None where that has no sense, for the
    reason in `not_built`.
    """

    what: What
    where: str
    text: str
    words: str
    graph: Graph | None
    request: Request | None
    build: Callable[[], Figures] | None
    not_built: str = ""
    not_replanned: str = ""
    retrain: bool = False


class Varied:
    """Enumerate and compute the variations of a plan."""

    def __init__(self, graph: Graph, request: Request, plan: Plan, layers: tuple[str, ...]) -> None:
        """layers: the labels whose nodes are varied."""
        self.graph, self.plan, self.layers = graph, plan, layers
        # a contract on cycles would answer every question with itself
        self.request = replace(request, latency_exact=None)
        self.rebuild = Rebuild.of(graph, self.request, plan)

    def computed(self, base: Figures, fresh: Figures, tell: Tell) -> Iterator[Variation]:
        """Give every variation with its outcomes; base and fresh: what the two senses are compared with."""
        changes = tuple(self._changes(base))
        for k, change in enumerate(changes):
            tell(change.text, k, len(changes))
            yield Variation(
                change.what,
                change.where,
                change.text,
                change.words,
                change.retrain,
                self._as_built(change, base),
                self._replanned(change, fresh),
            )

    def _as_built(self, change: Change, base: Figures) -> Outcome:
        if change.build is None:
            return Outcome(why=change.not_built)
        try:
            return found(change.build(), base)
        except (CannotBuildError, UserError) as error:
            return Outcome(why=_first_sentence(str(error)))

    def _replanned(self, change: Change, fresh: Figures) -> Outcome:
        if change.graph is None or change.request is None:
            return Outcome(why=change.not_replanned)
        try:
            plan = make_plan(change.graph, change.request)
            figures = figures_of(change.graph, plan)
            if change.what == "budget":
                figures = replace(figures, verdict=self._by_own_budget(plan, figures))
            return found(figures, fresh)
        except UserError as error:
            return Outcome(why=_first_sentence(str(error)))

    def _by_own_budget(self, plan: Plan, figures: Figures) -> Verdict:
        """Judge what was planned for a tighter budget by the one that the user asked for."""
        latency = latency_of(figures.cycles, figures.period_ns, plan.fixed_ns)
        required = required_interval(self.plan.rate_hz, figures.period_ns)
        own = self.plan.budget_ns
        return judge(latency, plan.clock, budget_ns=own, interval=figures.interval, required=required)

    # ---- what there is to change ----

    def _changes(self, base: Figures) -> Iterator[Change]:
        yield from self._clocks()
        yield from self._budgets(base)
        yield from self._links()
        yield from self._bits("weight_bits", weights_of(self.graph), with_weight_bits)
        yield from self._bits("activation_bits", activations_of(self.graph), with_activation_bits)
        yield from self._reuse()
        yield from self._stores()

    def _clocks(self) -> Iterator[Change]:
        period_ns = self.plan.clock.period_ns
        for factor in CLOCKS:
            new = float(f"{period_ns * factor:.6g}")
            yield Change(
                "clock",
                "clock",
                f"clock {1e3 / period_ns:.4g} → {1e3 / new:.4g} MHz",
                f"to ask for a clock of {1e3 / new:.4g} instead of {1e3 / period_ns:.4g} MHz",
                self.graph,
                self.request.overridden(clock=f"{new!r}ns"),
                lambda new=new: self.rebuild.figures(period_ns=new),  # type: ignore[misc]
            )

    def _budgets(self, base: Figures) -> Iterator[Change]:
        if self.plan.budget_ns is None or base.verdict is Verdict.MISSED:
            return
        for share in TIGHTER:
            budget_ns = float(f"{base.total_ns * share:.6g}")
            yield Change(
                "budget",
                "budget",
                f"budget of {number(budget_ns)} ns",
                f"to plan for a budget of {number(budget_ns)} ns",
                self.graph,
                self.request.overridden(budget=f"{budget_ns!r}ns"),
                None,
                not_built="the planner's choices are what would change",
            )

    def _links(self) -> Iterator[Change]:
        for link in links():
            if link.name == self.plan.link or self.plan.boundary not in link.boundaries:
                continue
            request = self.request.overridden(link=link.name, boundary=self.plan.boundary)
            try:
                part = target_of(self.graph, request).part
            except UserError:
                continue  # the part cannot reach it
            if not has_link(link, part):
                continue
            yield Change(
                "link",
                link.name,
                f"link {link.name}",
                f"to take link {link.name} instead of {self.plan.link}",
                self.graph,
                request,
                lambda name=link.name: self.rebuild.figures(link=name),  # type: ignore[misc]
            )

    def _bits(
        self, what: What, names: tuple[str, ...], changed: Callable[[Graph, str, int], Graph]
    ) -> Iterator[Change]:
        for name in names:
            node = self.graph.node(name)
            if node.label not in self.layers:
                continue
            kind = node.weight_type if what == "weight_bits" else node.type  # type: ignore[union-attr]
            whose = "weights" if what == "weight_bits" else "results"
            for step in (+1, -1):
                bits = kind.width + step
                text = f"{name} {whose} {kind.width} → {bits} bits"
                words = f"to give the {whose} of {name} {bits} bit{'' if bits == 1 else 's'} instead of {kind.width}"
                try:
                    graph = changed(self.graph, name, step)
                except CannotChangeError as error:
                    yield Change(what, name, text, words, None, None, None, str(error), str(error), retrain=True)
                    continue
                yield Change(
                    what,
                    name,
                    text,
                    words,
                    graph,
                    self.request,
                    lambda graph=graph: self.rebuild.figures(graph=graph),  # type: ignore[misc]
                    retrain=True,
                )

    def _reuse(self) -> Iterator[Change]:
        for k, choice in enumerate(self.plan.choices):
            head = self.graph.node(choice.nodes[0])
            if not isinstance(head, Dense | Conv) or head.label not in self.layers:
                continue
            inner = choice.inner if isinstance(choice, Streamed) else choice
            used = inner.reuse_factor if isinstance(inner, Folded) else 1
            factors = reuse_factors(self.graph, head.matrix if isinstance(head, Conv) else head)
            for more in (True, False):
                factor = _nearest(factors, used, more=more)
                if factor is None:
                    continue
                asked = Asked(head.label, factor, "resource" if factor > 1 else "latency")
                others = tuple(wish for wish in self.graph.asked if wish.label != head.label)
                swaps = self._folds(choice, factor)
                yield Change(
                    "reuse",
                    head.name,
                    f"{head.name} reuse {used} → {factor}",
                    f"to give {head.name} a reuse factor of {factor} instead of {used}",
                    replace(self.graph, asked=(*others, asked)),
                    self.request,
                    (lambda k=k, swaps=swaps: self._best(k, swaps)) if swaps else None,  # type: ignore[misc]
                    not_built="it would be another engine, and the others would have to be chosen anew",
                )

    def _folds(self, choice: Choice, factor: int) -> tuple[Folded, ...]:
        """Return the ways to give a folded choice another reuse factor."""
        if not isinstance(choice, Folded) or factor == 1:
            return ()
        like = (choice.order, choice.store, choice.multiplier)
        legal = choices(self.graph, choice.nodes, self.rebuild.target.part, reuse_factor=factor)
        return tuple(c for c in legal if (c.order, c.store, c.multiplier) == like)

    def _best(self, k: int, swaps: tuple[Folded, ...]) -> Figures:
        """Return the figures of the shortest of several choices in place of number k, of equals the smallest."""
        tried, why = [], ""
        for swap in swaps:
            try:
                tried.append(self.rebuild.figures(swaps={k: swap}))
            except CannotBuildError as error:
                why = str(error)
        if not tried:
            raise CannotBuildError(why)
        return min(tried, key=lambda f: (not f.fits, f.cycles, f.lut + f.ff))

    def _stores(self) -> Iterator[Change]:
        part = self.rebuild.target.part
        for k, choice in enumerate(self.plan.choices):
            label = self.graph.node(choice.nodes[0]).label
            if not isinstance(choice, Folded) or label not in self.layers:
                continue
            like = (choice.order, choice.p, choice.q, choice.multiplier)
            legal = choices(self.graph, choice.nodes, part, reuse_factor=choice.reuse_factor)
            for other in legal:
                if other.store == choice.store or (other.order, other.p, other.q, other.multiplier) != like:
                    continue
                pins, place = self.request.pins, STORE_NAMES[other.store]
                pin = replace(pins.get(choice.nodes[0], Pin(store=other.store)), store=other.store)
                yield Change(
                    "store",
                    choice.nodes[0],
                    f"{choice.nodes[0]} weights in {place}",
                    f"to keep the weights of {choice.nodes[0]} in {place} instead of {STORE_NAMES[choice.store]}",
                    self.graph,
                    replace(self.request, pins={**pins, choice.nodes[0]: pin}),
                    lambda k=k, other=other: self.rebuild.figures(swaps={k: other}),  # type: ignore[misc]
                )


def _nearest(factors: tuple[int, ...], used: int, *, more: bool) -> int | None:
    """Return the reuse factor nearest to twice or half of the one used, None where there is none beyond it."""
    wanted = used * 2 if more else used / 2
    beyond = [f for f in factors if (f > used if more else f < used)]
    return min(beyond, key=lambda f: max(f / wanted, wanted / f), default=None)


def _first_sentence(text: str) -> str:
    head = text.partition("; ")[0].partition(". ")[0].rstrip(".")
    said, colon, _ = head.partition(": ")
    return said if colon and len(said) > LONG else head
