"""What a design is held to, in the report: its exact cycles, and its latency in bunch crossings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flow.latency.budget import Origin
from flow.latency.bunches import NOMINAL_NS, BunchCrossings
from flow.latency.timeline import Timeline
from flow.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class ContractReport:
    """Give the cycles that a contract asks for: those that the network takes, and those that outputs are held back."""

    exact_cycles: int
    own_cycles: int
    held_cycles: int
    origin: Origin


def contract_of(plan: Plan, timeline: Timeline) -> ContractReport | None:
    """Return the contract of a plan, None where it has none."""
    if plan.latency_exact is None:
        return None
    held = plan.traffic.held
    return ContractReport(plan.latency_exact, timeline.latency - held, held, Origin.PREDICTED)


def contract_rows(
    contract: ContractReport | None, crossings: BunchCrossings | None, origin: Origin
) -> Iterator[tuple[str, str, str]]:
    """Give rows for the table of the latency: name, value, origin."""
    if contract is not None:
        said = "nothing to hold back" if not contract.held_cycles else f"{contract.held_cycles:,} of them held back"
        yield "contract", f"exactly {contract.exact_cycles:,}", f"cycles asked; {contract.own_cycles:,} needed, {said}"
    if crossings is not None:
        per = crossings.cycles_per_crossing
        clock = "the clock is no multiple of it" if per is None else f"{per} cycle{'' if per == 1 else 's'} each"
        mhz = f"{crossings.clock_hz / 1e6:.6g} MHz"
        yield "in bunch crossings", f"{crossings.total:.2f} BX", f"{origin}, of the {mhz} bunch clock; {clock}"
        nominal = f"of {NOMINAL_NS:.0f} ns, nominal; core alone {crossings.core:.2f} BX of the bunch clock"
        yield "", f"{crossings.nominal_total:.2f} BX", nominal
