"""Time in LHC bunch crossings: what triggers of its experiments count in."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

BUNCH_CLOCK_HZ = 40.079e6
NOMINAL_NS = 25.0
SOURCE = (
    "LHC timing (TTC) as described for the electronics workshop LECC 2002: the bunch clock is about 40.07897 MHz at "
    "7 TeV, 'raw 40.079 MHz' as distributed; quoted in http://www.lhcportal.com/Forum/viewtopic.php?f=4&t=1901 "
    "(looked up 2026-11-30)"
)
PERIOD_NS = 1e9 / BUNCH_CLOCK_HZ


@dataclass(frozen=True, slots=True)
class BunchCrossings:
    """Give a latency in bunch crossings.

    core, total: as many periods of the bunch clock as they last. whole: crossings after which the result is there.
    nominal_total: the total in crossings of 25 ns. cycles_per_crossing: of the design's clock where that is a multiple
    of the bunch clock, None where it is not.
    """

    core: float
    total: float
    whole: int
    nominal_total: float
    cycles_per_crossing: int | None
    clock_hz: float
    source: str


def bunch_crossings(core_ns: float, total_ns: float, period_ns: float) -> BunchCrossings:
    """Return times in bunch crossings; period_ns: of the design's clock."""
    multiple = round(PERIOD_NS / period_ns)
    exact = multiple >= 1 and abs(multiple * period_ns / PERIOD_NS - 1) < 1e-6
    total = total_ns / PERIOD_NS
    return BunchCrossings(
        core_ns / PERIOD_NS,
        total,
        ceil(total - 1e-6),
        total_ns / NOMINAL_NS,
        multiple if exact else None,
        BUNCH_CLOCK_HZ,
        SOURCE,
    )
