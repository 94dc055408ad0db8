"""The delay model of a part: what the pipeline is cut by and periods are predicted with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delays:
    """Give the delays of a part's fabric, routing included, in ns.

    level_ns: one LUT level. carry_ns: entering and leaving a carry chain. carry_bit_ns: each bit along it.
    register_ns: what a register-to-register path costs beside its logic (clock to output, setup).
    low, high: factors on a predicted period that span what place and route may give.
    """

    level_ns: float
    carry_ns: float
    carry_bit_ns: float
    register_ns: float
    low: float
    high: float
    source: str
    grade: str
