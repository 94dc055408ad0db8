"""`report.json`: what a run has shown, under stable names.

Every number stands beside its unit (in its name) and its origin. What was not done or is not known is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from flow.latency.budget import Origin, Verdict
from flow.latency.bunches import BunchCrossings
from flow.plan.sensitivity.figures import Sensitivity
from flow.report.baselines import BaselineReport, HeadlineReport
from flow.report.contract import ContractReport
from flow.report.load import LoadReport
from flow.report.planned import PlanReport
from flow.report.vendor import VendorReport
from flow.stored import load_stored

FORMAT = 1


@dataclass(frozen=True, slots=True)
class ClockReport:
    """Give the constrained period and the range that place and route may need, in ns.

    routed_ns: what it needed. untimed: cells through which the router knows no delays, so that routed_ns leaves their
    paths out.
    """

    period_ns: float
    range_ns: tuple[float, float]
    origin: Origin
    range_origin: Origin
    routed_ns: float | None = None
    untimed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """Split the latency: cycles, core = cycles × period, fixed = the link's overhead."""

    cycles_predicted: int
    cycles_simulated: int | None
    core_ns: float
    fixed_ns: float
    fixed_range_ns: tuple[float, float]
    total_ns: float
    best_ns: float | None
    origin: Origin
    fixed_origin: Origin
    fixed_source: str
    bunch_crossings: BunchCrossings | None = None


@dataclass(frozen=True, slots=True)
class IntervalReport:
    """Give the initiation interval in cycles; `cycles_required` follows from the rate."""

    cycles_required: int | None
    cycles_predicted: int
    cycles_simulated: int | None


@dataclass(frozen=True, slots=True)
class BitReport:
    """Count compared vectors and what differs; the reference is what the hardware was compared with.

    mismatches: vectors that came out wrong in the bulk run. wrong_bits: bits that did in the bench's traffic.
    """

    vectors: int
    mismatches: int
    wrong_bits: int
    reference: str

    @property
    def exact(self) -> bool:
        """Tell whether nothing differs."""
        return not self.mismatches and not self.wrong_bits


@dataclass(frozen=True, slots=True)
class TimelineReport:
    """Count the edges and beats that were checked at their predicted cycles."""

    edges: int
    beats_checked: int
    beats_wrong: int


@dataclass(frozen=True, slots=True)
class HopReport:
    """Give one engine of the critical path."""

    node: str
    engine: str
    cycles: int
    ns: float
    reason: str


@dataclass(frozen=True, slots=True)
class ResourceCounts:
    """Count cells; `per_node` gives LUT, FF, DSP and BRAM per engine and width converter."""

    lut: int
    ff: int
    dsp: int
    bram: int
    uram: int
    origin: Origin
    per_node: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class AvailableCounts:
    """Count what the part has, and the fraction that the plan may use."""

    lut: int
    ff: int
    dsp: int
    bram: int
    uram: int
    usable_fraction: dict[str, float]
    source: str


@dataclass(frozen=True, slots=True)
class ResourcesReport:
    """Set prediction, synthesis and the part side by side."""

    predicted: ResourceCounts
    synthesized: ResourceCounts | None
    available: AvailableCounts


@dataclass(frozen=True, slots=True)
class RooflineReport:
    """Give the roofline bound of the same work on a GPU, and why it misleads here."""

    device: str
    bound_ns: float
    source: str
    why: str


@dataclass(frozen=True, slots=True)
class FidelityReport:
    """Give a layer's largest absolute difference between framework and hls4ml.

    max_abs_error: as converted. conversion_error: what remains with generous widths; the rest is quantization.
    """

    layer: str
    max_abs_error: float
    conversion_error: float | None


@dataclass(frozen=True, slots=True)
class AccuracyReport:
    """Give accuracies on labelled vectors, as fractions."""

    vectors: int
    framework: float | None
    hls4ml: float | None
    rtl: float | None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Name a check of the simulation."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """Hold everything that a run has shown."""

    format: int
    model: str
    part: str
    link: str
    boundary: str
    budget_ns: float | None
    rate_hz: float | None
    verdict: Verdict
    limiter: str
    advice: str
    clock: ClockReport
    latency: LatencyReport
    ii: IntervalReport
    bit_exact: BitReport | None
    timeline: TimelineReport | None
    checks: tuple[CheckReport, ...]
    critical_path: tuple[HopReport, ...]
    plan: PlanReport
    resources: ResourcesReport
    baseline: tuple[BaselineReport, ...]
    roofline: RooflineReport | None
    fidelity: tuple[FidelityReport, ...]
    accuracy: AccuracyReport | None
    notes: tuple[str, ...]
    headline: HeadlineReport | None = None
    load: LoadReport | None = None
    vendor: VendorReport | None = None
    contract: ContractReport | None = None
    sensitivity: Sensitivity | None = None

    @property
    def verified(self) -> bool:
        """Tell whether no check that ran has failed."""
        wrong_bits = self.bit_exact is not None and not self.bit_exact.exact
        wrong_beats = self.timeline is not None and self.timeline.beats_wrong > 0
        lost = any(row.beaten is False for row in self.baseline)
        return not (wrong_bits or wrong_beats or lost) and all(check.passed for check in self.checks)


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """Hold what the conversion has shown, as `conversion.json` keeps it for the report.

    reference: what the vectors' expected outputs come from. labels: whether the vectors are labelled.
    """

    reference: str
    vectors: int
    fidelity: tuple[FidelityReport, ...]
    framework_accuracy: float | None
    hls4ml_accuracy: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BulkReport:
    """Hold what the bulk run of the RTL has shown, as `sim/bulk.json` keeps it: all vectors, back to back."""

    vectors: int
    mismatches: int
    accuracy: float | None


@cache
def _conversion_adapter() -> TypeAdapter[ConversionReport]:
    return TypeAdapter(ConversionReport)


@cache
def _bulk_adapter() -> TypeAdapter[BulkReport]:
    return TypeAdapter(BulkReport)


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)


def conversion_to_json(conversion: ConversionReport) -> bytes:
    """Return the contents of `conversion.json`."""
    return _conversion_adapter().dump_json(conversion, indent=1) + b"\n"


def load_conversion(path: Path) -> ConversionReport:
    """Read `conversion.json`; raise UserError when it is not one."""
    return load_stored(_conversion_adapter(), path, "a conversion report", "delete it and run again")


def bulk_to_json(bulk: BulkReport) -> bytes:
    """Return the contents of `sim/bulk.json`."""
    return _bulk_adapter().dump_json(bulk, indent=1) + b"\n"


def load_bulk(path: Path) -> BulkReport:
    """Read `sim/bulk.json`; raise UserError when it is not one."""
    return load_stored(_bulk_adapter(), path, "a bulk result", "delete it and simulate again")


def report_to_json(report: Report) -> bytes:
    """Return the contents of `report.json`."""
    return _adapter().dump_json(report, indent=1) + b"\n"


def load_report(path: Path) -> Report:
    """Read `report.json`; raise UserError when it is not one."""
    return load_stored(_adapter(), path, "a report", "make it again: fpgaflow report")
