"""The roofline bound of one inference on a GPU, printed because readers ask for it, with the reason not to trust it."""

from __future__ import annotations

from dataclasses import dataclass

from flow.baseline.catalogue import catalogue
from flow.baseline.gpu import rows
from flow.baseline.work import Work


@dataclass(frozen=True, slots=True)
class Roofline:
    """Give the bound max(operations / peak, bytes / bandwidth), in ns, and its two sides."""

    device: str
    operations: int
    weight_bytes: int
    compute_ns: float
    memory_ns: float
    source: str
    why: str

    @property
    def bound_ns(self) -> float:
        """Return the larger of the two sides."""
        return max(self.compute_ns, self.memory_ns)


def roofline(multiplications: int, weight_bytes: int) -> Roofline:
    """Return the bound for one inference: a multiplication counts as two operations (with its addition).

    weight_bytes: read once from memory; activations are not counted (in the GPU's favour).
    """
    peak = catalogue().roofline
    operations = 2 * multiplications
    compute_ns = operations / peak.operations_per_s * 1e9
    memory_ns = weight_bytes / peak.bytes_per_s * 1e9
    launch = next(row for row in rows(Work(0, 0), "host_to_host") if row.comparable and row.typical)
    assert launch.ns is not None
    bound_ns = max(compute_ns, memory_ns)
    times = f", {launch.ns / bound_ns:,.0f} times less than '{launch.name}' takes" if bound_ns > 0 else ""
    return Roofline(
        device=peak.device,
        operations=operations,
        weight_bytes=weight_bytes,
        compute_ns=compute_ns,
        memory_ns=memory_ns,
        source=f"{peak.source}: {peak.conditions} ({peak.date}) [{peak.grade}]",
        why=(
            "It assumes enough independent work to keep the machine busy; one small inference is over before its "
            f"fixed costs have begun to amortize{times}."
        ),
    )
