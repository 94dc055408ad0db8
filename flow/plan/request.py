"""What a user asks for: budget, rate, part, clock, link; from `request.toml`, the command line or Python."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from flow.device.links import Boundary
from flow.device.parts import Kind
from flow.errors import UserError
from flow.latency.bunches import PERIOD_NS
from flow.latency.queue import Overrun
from flow.plan.accepted import Count, parse_toml, refuse
from flow.plan.limits import limits_of
from flow.plan.load import check_load, check_payload
from flow.plan.pins import Pin
from flow.plan.precision import check_precision
from flow.plan.solve import Objective
from flow.quantity import FREQUENCY_HZ, TIME_NS, quantity, whole_bytes

MOST_CYCLES = 1_000_000
Spared = Literal["lut", "ff", "dsp", "bram"]


def parse_time(text: str, what: str = "budget") -> float:
    """Return nanoseconds from `5us`, `50 ns`, `0.2ms`; raise UserError without a unit or at zero."""
    return quantity(text, TIME_NS, what, "5us")


def parse_rate(text: str, what: str = "rate") -> float:
    """Return hertz from `40MHz`, `1 kHz`; raise UserError without a unit or at zero."""
    return quantity(text, FREQUENCY_HZ, what, "40MHz")


def parse_clock(text: str) -> float | None:
    """Return a period in ns from `200MHz`, `5ns`, or a multiple such as `6x40MHz` and `6xBC`; None for `auto`.

    BC stands for the LHC's bunch clock.
    """
    if text.strip().lower() == "auto":
        return None
    multiple = re.fullmatch(r"\s*([^x×*]*?)\s*[x×*]\s*(.*?)\s*", text, re.DOTALL)
    if multiple is not None:
        factor, base = multiple.groups()
        if not re.fullmatch(r"[1-9][0-9]{0,2}", factor):
            raise UserError(
                f"clock '{text}': a multiple is a whole number from 1 to 999 of a frequency, for example 6xBC (of the "
                "LHC's bunch clock) or 6x40MHz"
            )
        base_ns = PERIOD_NS if base.lower() == "bc" else 1e9 / quantity(base, FREQUENCY_HZ, "clock", "6x40.079MHz")
        return base_ns / int(factor)
    if re.search(r"hz\s*$", text, re.IGNORECASE):
        return 1e9 / quantity(text, FREQUENCY_HZ, "clock", "200MHz, 5ns or auto")
    if not re.search(r"s\s*$", text):
        raise UserError(f"clock '{text}' has no unit; write for example 200MHz, 5ns or auto")
    return quantity(text, TIME_NS, "clock", "200MHz, 5ns or auto")


def _listed(value: Any) -> Any:
    """Return one name as a list of one."""
    return (value,) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Request:
    """Hold what is asked, as text with units exactly as the user wrote it.

    model, vectors: paths (relative to the request's folder). budget: largest total latency at the boundary. rate:
    arrival rate that must be sustained. clock: a frequency, a multiple of one (6xBC), a period or `auto`. boundary:
    what the latency spans; by default the link's. must_beat: baseline rows that the simulated total must undercut.
    measured: files of `fpgaflow baseline --measure` (relative to the request's folder) that stand beside the baselines.
    parts: parts and boards that `fpgaflow budget` compares, where no --part is given; `part` stays what is built for.
    spare: resources that the rest of the design needs; they weigh more in the area. hls: an hls4ml configuration that
    overrides the inferred precision. precision: by layer, a type for all its variables or one for each that is named
    (weight, bias, accum, result …), as hls4ml writes types; it outranks `hls` and a --config. latency_exact: cycles
    that the core must take, no more and no fewer; outputs that are ready sooner are held back. freeze: timeline.json of
    a former run (relative to the request's folder), whose cycles must stay; its plan.json lies beside it.
    bunch_crossings: whether latencies are shown in LHC bunch crossings too. pins: what nodes must become, by name or
    layer. payload_in, payload_out: bytes of the messages on the link, where they are not the packed tensors. arrivals:
    when inputs come: poisson:RATE, periodic:RATE, burst:N@GAP[/PERIOD], or a file of times. buffer: inferences that can
    wait before the core, any number by default. overrun: what becomes of an arrival that finds them all taken: the
    sender keeps it (wait), it is lost (drop_new), or the one that has waited longest is (drop_old). output_buffer:
    places for results, of inferences under way and of those not yet sent, any number by default.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    model: str | None = None
    vectors: str | None = None
    budget: str | None = None
    rate: str | None = None
    part: str = "xcvu13p"
    clock: str = "auto"
    link: str = "direct"
    boundary: Boundary | None = None
    must_beat: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    measured: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    spare: Annotated[tuple[Spared, ...], BeforeValidator(_listed)] = ()
    parts: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    hls: dict[str, Any] = field(default_factory=dict)
    precision: dict[str, str | dict[str, str]] = field(default_factory=dict)
    payload_in: str | None = None
    payload_out: str | None = None
    arrivals: str | None = None
    buffer: Count | None = None
    overrun: Overrun = "wait"
    output_buffer: Count | None = None
    latency_exact: Count | None = None
    freeze: str | None = None
    bunch_crossings: Annotated[bool, Field(strict=True)] = False
    pins: dict[str, Pin] = field(default_factory=dict)
    objective: Objective | None = None
    limits: dict[str, Count | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.budget is not None:
            parse_time(self.budget)
        if self.rate is not None:
            parse_rate(self.rate)
        parse_clock(self.clock)
        check_precision(self.precision)
        limits_of(self.limits)
        check_payload(self.payload_in, "payload_in")
        check_payload(self.payload_out, "payload_out")
        check_load(self.arrivals, self.buffer, self.overrun, self.output_buffer)
        if self.latency_exact is not None and not 1 <= self.latency_exact <= MOST_CYCLES:
            raise UserError(
                f"latency_exact = {self.latency_exact} is no number of cycles; "
                f"write one from 1 to {MOST_CYCLES:,}, for example 12"
            )

    @property
    def budget_ns(self) -> float | None:
        """Return the budget in ns, None when there is none."""
        return None if self.budget is None else parse_time(self.budget)

    @property
    def rate_hz(self) -> float | None:
        """Return the required rate in Hz, None when there is none."""
        return None if self.rate is None else parse_rate(self.rate)

    @property
    def period_ns(self) -> float | None:
        """Return the asked clock period in ns, None when the planner chooses."""
        return parse_clock(self.clock)

    @property
    def most(self) -> dict[Kind, int | Fraction]:
        """Return the limits: counts, and shares of what the part has."""
        return cast("dict[Kind, int | Fraction]", limits_of(self.limits))

    @property
    def payload_bytes(self) -> tuple[int | None, int | None]:
        """Return the asked payloads inward and outward, None for the packed tensors."""
        return (
            None if self.payload_in is None else whole_bytes(self.payload_in, "payload_in"),
            None if self.payload_out is None else whole_bytes(self.payload_out, "payload_out"),
        )

    def unloaded(self) -> Request:
        """Return the request without its load and measurements, which change nothing of the hardware."""
        return replace(self, arrivals=None, buffer=None, overrun="wait", output_buffer=None, measured=())

    def overridden(self, **options: Any) -> Request:
        """Return the request with the options that are not None in place of its own."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})


_ADAPTER = TypeAdapter(Request)


def load_request(path: Path) -> Request:
    """Read `request.toml`; raise UserError naming the key that is wrong."""
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
        return _ADAPTER.validate_python(content)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: it is not TOML: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read it ({error.strerror})") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except ValidationError as error:
        raise UserError(f"{path}: {refuse(error, content)}") from None
