"""The whole vendor project: the longest path through its layers, its slowest layer, and its sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from flow.vendor.area import area
from flow.vendor.constants import Constants, Errors, constants
from flow.vendor.cycles import Timing, timing
from flow.vendor.layer import Network

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold one predicted count with the range that held-out errors span; both None where it is unknown."""

    value: int | None
    range: Range | None


UNKNOWN = Figure(None, None)


@dataclass(frozen=True, slots=True)
class Predicted:
    """Hold the figures of a layer or of the whole. reasons: why what is unknown is so."""

    name: str
    label: str
    cycles: Figure
    interval: Figure
    dsp: Figure
    bram: Figure
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VendorPrediction:
    """Hold all layers and the total; exact_cycles: the total before rounding, None where unknown."""

    layers: tuple[Predicted, ...]
    total: Predicted
    exact_cycles: float | None
    exact_dsp: float | None


def predict(network: Network, known: Constants | None = None) -> VendorPrediction:
    """Predict cycles, interval, DSP and block RAM of every layer and of the whole.

    A total is unknown as soon as one layer that counts towards it is.
    """
    known = known or constants()
    timings = {layer.name: timing(layer, network, known) for layer in network.layers}
    areas = {layer.name: area(layer, network, known) for layer in network.layers}
    layers = []
    for layer in network.layers:
        found, cells = timings[layer.name], areas[layer.name]
        layers.append(
            Predicted(
                layer.name,
                layer.label,
                _cycles(found.cycles, _band(found, known)),
                _within(found.interval, known.held_out["ii"]),
                _within(cells.dsp, known.held_out["dsp"]),
                _exact(cells.bram),
                tuple(why for why in (found.reason, *cells.reasons) if why),
            )
        )
    cycles, low, high, why = _path(network, timings, known)
    dsp = _sum([areas[layer.name].dsp for layer in network.layers])
    bram = _sum([areas[layer.name].bram for layer in network.layers])
    total = Predicted(
        "total",
        "total",
        UNKNOWN if cycles is None else Figure(round(cycles), (floor(low), ceil(high))),
        _within(_interval(network, timings), known.held_out["ii"]),
        _within(dsp, known.held_out["dsp"]),
        _exact(None if bram is None else round(bram)),
        (why,) if why else (),
    )
    return VendorPrediction(tuple(layers), total, cycles, dsp)


def _path(network: Network, timings: dict[str, Timing], known: Constants) -> tuple[float | None, float, float, str]:
    """Return the cycles of the longest path with their range, or why they are unknown."""
    missing = [layer.label for layer in network.layers if timings[layer.name].cycles is None]
    if missing:
        return None, 0, 0, f"cycles unknown of {', '.join(dict.fromkeys(missing))}"
    over_places = [layer for layer in network.layers if layer.pixels > 1 and layer.kind not in {"wire"}]
    if network.streamed and len(over_places) > 1:
        return None, 0, 0, "no report shows how layers on one stream overlap"
    ends: dict[str, tuple[float, float, float]] = {}
    for layer in network.layers:
        begin = [ends[name] for name in layer.inputs if name in ends] or [(0.0, 0.0, 0.0)]
        own = timings[layer.name]
        assert own.cycles is not None
        low, high = _band(own, known)
        mine = (own.cycles, own.cycles * low, own.cycles * high)
        ends[layer.name] = tuple(max(each) + add for each, add in zip(zip(*begin, strict=True), mine, strict=True))
    cycles, low, high = (max((end[k] for end in ends.values()), default=0.0) for k in range(3))
    return cycles, low, high, ""


def _band(found: Timing, known: Constants) -> tuple[float, float]:
    """Return the factors on a layer's cycles that the held-out errors span."""
    errors = known.held_out["cycles"]
    if found.single:  # one report, and publications that it does not agree with: as wide as all of them
        return known.latency_strategy.low, max(known.latency_strategy.high, errors.high)
    return errors.low, errors.high


def _interval(network: Network, timings: dict[str, Timing]) -> int | None:
    """Return the interval of the slowest layer."""
    intervals = [timings[layer.name].interval for layer in network.layers]
    known = [interval for interval in intervals if interval is not None]
    return None if len(known) < len(intervals) or not known else max(known)


def _cycles(value: float | None, band: tuple[float, float]) -> Figure:
    return UNKNOWN if value is None else Figure(round(value), (floor(value * band[0]), ceil(value * band[1])))


def _exact(value: int | None) -> Figure:
    return UNKNOWN if value is None else Figure(value, (value, value))


def _within(value: float | None, errors: Errors) -> Figure:
    if value is None:
        return UNKNOWN
    return Figure(round(value), (floor(value * errors.low), ceil(value * errors.high)))


def _sum(values: list[float | None] | list[int | None]) -> float | None:
    return None if any(value is None for value in values) else float(sum(value or 0 for value in values))
