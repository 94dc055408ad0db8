"""All cases of the conformance suite, and the packs that run together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.conformance.layers.case import IO_TYPES, Case, IoType
from tests.conformance.layers.convolutions import apart, convolutions
from tests.conformance.layers.elements import activations, merges, normalizations, softmaxes
from tests.conformance.layers.numerics import dense, quantizers, types
from tests.conformance.layers.refusals import refusals
from tests.conformance.layers.spatial import moves, pools

MOST = 16
"""Cases of a pack: hls4ml, g++ and Verilator run once for all of them."""
STREAMED = "1us"


@dataclass(frozen=True, slots=True)
class Pack:
    """Hold cases that are converted and simulated together, in one io type."""

    io_type: IoType
    cases: tuple[Case, ...]

    @property
    def budget(self) -> str | None:
        """Return the budget of the plan: in io_stream one that beats of few pixels meet, so that they are chosen."""
        return self.cases[0].budget or (STREAMED if self.io_type == "io_stream" else None)

    @property
    def name(self) -> str:
        """Return a name for reports."""
        first = self.cases[0]
        return f"{self.io_type}, {len(self.cases)} cases from '{first.name}'"


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case; raise ValueError where two have one name."""
    groups = (
        dense(), convolutions(), apart(), pools(), moves(), activations(), normalizations(), softmaxes(), merges(),
        quantizers(), types(), refusals(),
    )  # fmt: skip
    cases = tuple(case for group in groups for case in group)
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two cases have one name: {', '.join(twice)}")
    return cases


def packs(cases: tuple[Case, ...], *, most: int = MOST) -> tuple[Pack, ...]:
    """Return the cases with results in packs, by what they must share.

    In io_stream images and sequences come in beats that begin together, so those of a pack have one shape; hls4ml's
    headers for sequences and for images exclude each other.
    """
    groups: dict[tuple[object, ...], list[Case]] = {}
    for io_type in IO_TYPES:
        for case in cases:
            if io_type in case.expected and case.expected[io_type].kind != "refused":
                shapes: object = max(len(shape) for shape in case.shapes)
                if io_type == "io_stream":
                    shapes = frozenset(shape for shape in case.shapes if len(shape) > 1)
                key = (io_type, tuple(sorted(case.section.items())), case.budget, shapes)
                groups.setdefault(key, []).append(case)
    found: list[Pack] = []
    for (io_type, *_), members in groups.items():
        count = -(-len(members) // most)
        found += [Pack(io_type, tuple(members[k::count])) for k in range(count)]
    return tuple(found)
