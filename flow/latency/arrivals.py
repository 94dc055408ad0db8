"""When inputs come: on a beat, by chance, in bursts, or as a file has them; in whole picoseconds.

The words are
    poisson:RATE[,count=N][,seed=S]      independent arrivals, RATE on average
    periodic:RATE[,count=N]              one every 1/RATE
    burst:N@GAP[/PERIOD][,count=BURSTS]  N arrivals GAP apart, once, or again every PERIOD
    FILE[,unit=ns]                       one arrival time a line, or a .npy; see `arrival_file`
and each but the file also takes `phase=TIME`, what the first arrival comes after an edge of the clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.quantity import FREQUENCY_HZ, TIME_NS, quantity, simplest

Times = NDArray[np.int64]

MOST_ARRIVALS = 2_000_000
LONGEST_PS = 10**18  # of a trace: some 11 days, and within 64 bits
POISSON_COUNT = 100_000
PERIODIC_COUNT = 10_000
REPEATED_BURSTS = 1_000
SEED = 1
FORMS = "poisson:1MHz, periodic:40MHz, burst:64@67.2ns, burst:64@67.2ns/1ms, or a file of times (times.csv,unit=ns)"

Kind = Literal["poisson", "periodic", "burst", "file"]


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Hold arrival times that ascend, in ps from an edge of the design's clock, and what they are.

    rate_hz: on average, for ever; None where the arrivals end (one burst, a file). described: for a person, with how
    many were drawn and from which seed. regular: whether nothing about them is left to chance.
    """

    kind: Kind
    times_ps: Times
    rate_hz: Fraction | None
    described: str

    def __post_init__(self) -> None:
        self.times_ps.setflags(write=False)

    @property
    def count(self) -> int:
        """Return how many inputs arrive."""
        return int(self.times_ps.size)

    @property
    def regular(self) -> bool:
        """Tell whether they come in a pattern that repeats exactly."""
        return self.kind in {"periodic", "burst"}

    @property
    def span_ps(self) -> int:
        """Return the time from the first arrival to the last."""
        return int(self.times_ps[-1] - self.times_ps[0])


def is_file(text: str) -> bool:
    """Tell whether arrivals are those of a file."""
    return text.strip().partition(":")[0].lower() not in {"poisson", "periodic", "burst"}


@lru_cache(maxsize=4)
def draw(text: str) -> Arrivals:
    """Return the arrivals that `poisson:…`, `periodic:…` or `burst:…` describes; raise UserError for what it cannot."""
    kind, _, rest = text.strip().partition(":")
    words = [word.strip() for word in rest.split(",")]
    options = _options(text, words[1:])
    match kind.lower():
        case "poisson":
            return _poisson(words[0], options)
        case "periodic":
            return _periodic(words[0], options)
        case "burst":
            return _burst(words[0], options)
        case _:
            raise UserError(f"arrivals '{text}' are not understood; write for example {FORMS}")


def _options(text: str, words: list[str]) -> dict[str, str]:
    kind = text.strip().partition(":")[0].lower()
    known = ("count", "seed", "phase") if kind == "poisson" else ("count", "phase")
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or key not in known:
            raise UserError(f"arrivals '{text}': '{word}' is not understood; {kind} takes {', '.join(known)}")
        if key in found:
            raise UserError(f"arrivals '{text}': '{key}' is given twice")
        found[key] = value
    return found


def _whole(options: dict[str, str], key: str, default: int, most: int, least: int = 1) -> int:
    text = options.get(key, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise UserError(f"arrivals: {key}={text[:20]} must be a whole number from {least} to {most:,}")
    return int(text)


def _phase_ps(options: dict[str, str]) -> int:
    text = options.get("phase")
    return 0 if text is None else _ps(text, "phase of the arrivals", "1ns")


def _ps(text: str, what: str, example: str) -> int:
    return round(simplest(quantity(text, TIME_NS, what, example)) * 1000)


def _rate(text: str) -> Fraction:
    return simplest(quantity(text, FREQUENCY_HZ, "rate of the arrivals", "1MHz"))


def _check_span(last_ps: int | float) -> None:
    if last_ps > LONGEST_PS:
        raise UserError(
            f"the arrivals last {last_ps / 1e12:.3g} s, longer than {LONGEST_PS / 1e12:,.0f} s can be followed; "
            "ask for fewer (count=…) or a shorter time"
        )


def _poisson(text: str, options: dict[str, str]) -> Arrivals:
    rate, phase = _rate(text), _phase_ps(options)
    count = _whole(options, "count", POISSON_COUNT, MOST_ARRIVALS)
    seed = _whole(options, "seed", SEED, 10**9 - 1, least=0)
    mean_ps = float(10**12 / rate)
    _check_span(phase + 2.0 * count * mean_ps)
    gaps = np.rint(np.random.default_rng(seed).exponential(mean_ps, count)).astype(np.int64)
    gaps[0] = phase
    times = np.cumsum(gaps)
    said = f"Poisson, {_hertz(rate)} on average; {count:,} drawn from seed {seed}"
    return Arrivals("poisson", times, rate, said)


def _periodic(text: str, options: dict[str, str]) -> Arrivals:
    rate, phase = _rate(text), _phase_ps(options)
    count = _whole(options, "count", PERIODIC_COUNT, MOST_ARRIVALS)
    _check_span(phase + float(count * 10**12 / rate))
    times = phase + _multiples(10**12 / rate, count)
    return Arrivals("periodic", times, rate, f"periodic, {_hertz(rate)}; {count:,} followed")


def _burst(text: str, options: dict[str, str]) -> Arrivals:
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*@\s*([^/]+?)\s*(?:/\s*(.+))?", text)
    if match is None:
        raise UserError(f"arrivals 'burst:{text}' are not N@GAP or N@GAP/PERIOD; write for example burst:64@67.2ns")
    size = _whole({"burst size": match[1]}, "burst size", 1, MOST_ARRIVALS)
    gap, phase = _ps(match[2], "gap of a burst", "67.2ns"), _phase_ps(options)
    one = phase + gap * np.arange(size, dtype=np.int64) if gap * size <= LONGEST_PS else None
    if match[3] is None:
        if "count" in options:
            raise UserError(f"arrivals 'burst:{text}': count is of bursts that repeat; write burst:N@GAP/PERIOD")
        if one is None:
            _check_span(gap * size)
            raise AssertionError
        return Arrivals("burst", one, None, f"one burst of {size:,}, {_ns(gap)} apart")
    period = _ps(match[3], "period of bursts", "1ms")
    if period < gap * (size - 1):
        raise UserError(
            f"arrivals 'burst:{text}': {size:,} arrivals {_ns(gap)} apart take {_ns(gap * (size - 1))}, more than the "
            f"period of {_ns(period)}"
        )
    bursts = _whole(options, "count", min(REPEATED_BURSTS, max(MOST_ARRIVALS // size, 1)), MOST_ARRIVALS)
    if bursts * size > MOST_ARRIVALS:
        raise UserError(f"arrivals: {bursts:,} bursts of {size:,} are more than {MOST_ARRIVALS:,} arrivals")
    _check_span(phase + period * bursts)
    assert one is not None  # no longer than the period
    times = (period * np.arange(bursts, dtype=np.int64)[:, None] + one[None, :]).ravel()
    said = f"bursts of {size:,}, {_ns(gap)} apart, every {_ns(period)}; {bursts:,} bursts followed"
    return Arrivals("burst", times, Fraction(size * 10**12, period), said)


def _multiples(period_ps: Fraction, count: int) -> Times:
    """Return k × period, each rounded down on its own: no error adds up, none is late for its edge."""
    top, bottom = period_ps.numerator, period_ps.denominator
    return np.array([k * top // bottom for k in range(count)], dtype=np.int64)


def _hertz(rate: Fraction) -> str:
    for unit, size in (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3)):
        if rate >= size:
            return f"{float(rate / size):.6g} {unit}"
    return f"{float(rate):.6g} Hz"


def _ns(ps: int) -> str:
    for unit, size in (("s", 10**12), ("ms", 10**9), ("µs", 10**6)):
        if ps >= size:
            return f"{ps / size:.6g} {unit}"
    return f"{ps / 1000:.6g} ns"
