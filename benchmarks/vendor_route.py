"""Fit the vendor route's constants on one part of the reports and judge them on the other.

    python benchmarks/vendor_route.py [--rows] [--constants]

Reads ../shared/reference/vendor_reports; says so and stops where it is absent. Prints errors per quantity on both
parts, beside two baselines. --rows: every held-out row too. --constants: instead, the contents of
flow/vendor/constants.toml.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import log2
from statistics import median

import numpy as np
from scipy.optimize import nnls

from benchmarks.yardstick.vendor_rows import QUANTITIES, REPORTS, Row, mlp, rows
from flow.vendor.constants import (
    Constants,
    DenseConstants,
    Errors,
    LatencyStrategy,
    Limits,
    ToolConstants,
)
from flow.vendor.cycles import tree
from flow.vendor.layer import Tool
from flow.vendor.predict import predict

NEWEST = {"vitis": "Vitis 2024.1", "vivado": "Vivado 2020.1"}
LIMITS = Limits(
    operand_bits_min=12,
    operand_bits_wide=25,
    operand_bits_narrow=18,
    pool_cells=4,
    line_columns=32,
    table_entries=1024,
)
JETS = (16, 64, 32, 32, 5)
PUBLISHED = (  # network of JETS with softmax, cycles at 200 MHz, source
    (15, "75 ns, arXiv 1804.06913 as quoted by 2309.02334 Table IV"),
    (9, "45 ns with 6 bits, Fahim'21 as quoted by arXiv 2512.12850 Table 3"),
)
NOTHING = Errors(0, 0, 0, 0, 0, 0, 0, 1, 1)
Predictor = Callable[[Row, str], float | None]


def fit(reports: Iterable[Row]) -> Constants:
    """Fit all constants; looks at no row that is held out. Errors and the band of Latency are still to be judged."""
    part = [row for row in reports if not row.held_out]
    tools = {name: _tool(part, name) for name in ("vitis", "vivado")}
    streamed = [
        row.reported["cycles"] - row.network.layers[0].pixels for row in part if row.design.startswith("test_depthwise")
    ]
    return Constants(
        fitted_on="KERAS_3layer sweep; hls4ml tests of elu, relu, depthwise 1-D, pools of sequences",
        period_ns=(5.0, 10.0),
        dense=_dense([row for row in part if row.group == "sweep" and not row.failed], tools["vivado"]),
        stream_depth=round(median(streamed)),
        vitis=tools["vitis"],
        vivado=tools["vivado"],
        limits=LIMITS,
        latency_strategy=LatencyStrategy(1, 1, ""),
        held_out=dict.fromkeys((*QUANTITIES, "dense_cycles"), NOTHING),
    )


def _dense(part: list[Row], tool: ToolConstants) -> DenseConstants:
    """Solve for non-negative constants by least squares on the cycles beyond the turns of all layers."""
    features, cycles = [], []
    for row in part:
        counts = dict.fromkeys(DenseConstants.__dataclass_fields__, 0.0)
        rest = float(row.reported["cycles"])
        for layer in row.network.layers:
            if layer.kind == "softmax":
                rest -= 2 * tool.table + 1
                counts["level"] += log2(layer.lanes)
            if layer.kind != "dense":
                continue
            rest -= layer.reuse_factor
            counts["depth"] += 1
            counts["level"] += tree(layer)
            if layer.reuse_factor <= layer.n_in:
                if layer.n_in % layer.reuse_factor:
                    counts["uneven"] += 1
                    counts["uneven_block"] += layer.block
            elif layer.reuse_factor % layer.n_in == 0:
                counts["turn"] += 1
                counts["turn_block"] += layer.block
            else:
                counts["odd"] += 1
        features.append(list(counts.values()))
        cycles.append(rest)
    found, _ = nnls(np.array(features), np.array(cycles))
    return DenseConstants(*(round(float(value), 2) for value in found))


def _tool(part: list[Row], name: Tool) -> ToolConstants:
    """Read one compiler's constants from its newest version's reports."""
    newest = [row for row in part if row.version == NEWEST[name]]

    def cycles(design: str) -> int:
        (found,) = [row.reported["cycles"] for row in newest if row.design == design]
        return found

    padded = [row.reported["cycles"] for row in newest if "same-AveragePooling1D" in row.design]
    return ToolConstants(
        table=cycles("test_activations_io_parallel-elu"),
        streamed_table=cycles("test_activations_io_stream-elu") - cycles("test_activations_io_stream-relu") + 1 - 1,
        padded_average=padded[0],
    )


def judged(known: Constants, reports: Iterable[Row]) -> Constants:
    """Return the constants with their errors on the held-out part."""
    held = [row for row in reports if row.held_out]
    by = predictor(known)
    ratios = [
        row.reported["cycles"] / value
        for row in held
        if row.network.layers[-1].strategy == "Latency" and row.group == "sweep"
        if (value := by(row, "cycles")) is not None
    ]
    published = predict(mlp(JETS, 1, tool="vivado", softmax=True, drawn=True), known).exact_cycles
    assert published is not None
    ratios += [cycles / published for cycles, _ in PUBLISHED]
    source = "; ".join(("jets 64x32x32 at reuse factor 1, Vitis 2025.2", *(source for _, source in PUBLISHED)))
    band = LatencyStrategy(round(min(1.0, *ratios), 2), round(max(1.0, *ratios) + 0.005, 2), source)
    errors = {quantity: measure(held, quantity, by) for quantity in QUANTITIES}
    errors["dense_cycles"] = measure([row for row in held if row.group == "sweep"], "cycles", by)
    return replace(known, latency_strategy=band, held_out=errors)


def predictor(known: Constants) -> Predictor:
    """Return the model as a function of a row and a quantity."""

    def by(row: Row, quantity: str) -> float | None:
        found = predict(row.network, known)
        if quantity == "cycles":
            return None if found.exact_cycles is None else round(found.exact_cycles)
        if quantity == "dsp":
            return None if found.exact_dsp is None else round(found.exact_dsp)
        return found.total.interval.value if quantity == "ii" else found.total.bram.value

    return by


def baseline(reports: Iterable[Row], *, layers: bool) -> Predictor:
    """Return reuse factor + constant, the median over the fitted part; layers: one reuse factor for each product."""

    def turns(row: Row) -> int:
        products = [layer for layer in row.network.layers if layer.n_in]
        return sum(layer.reuse_factor for layer in products) if layers else row.reuse_factor

    constant = median(row.reported["cycles"] - turns(row) for row in reports if not row.held_out and not row.failed)
    return lambda row, _: turns(row) + constant


def measure(part: Iterable[Row], quantity: str, by: Predictor) -> Errors:
    """Compare predicted and reported figures."""
    pairs = [(by(row, quantity), row.reported[quantity]) for row in part if quantity in row.reported]
    known = [(guess, true) for guess, true in pairs if guess is not None]
    if not known:
        return replace(NOTHING, rows=len(pairs))
    guess, true = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    some = true > 0
    relative = np.abs(guess - true)[some] / true[some]
    size = np.abs(guess) + np.abs(true)
    smape = 200 * np.mean(np.divide(np.abs(guess - true), size, out=np.zeros_like(size), where=size > 0))
    spread = np.sum((true - true.mean()) ** 2)
    r2 = 1 - np.sum((guess - true) ** 2) / spread if spread else float("nan")
    numbers = (np.median(relative), np.quantile(relative, 0.9), relative.max()) if some.any() else (0, 0, 0)
    both = some & (guess > 0)
    ratios = true[both] / guess[both] if both.any() else np.ones(1)
    band = (min(1.0, np.quantile(ratios, 0.05)), max(1.0, np.quantile(ratios, 0.95)))
    figures = [round(float(n), 4) for n in (*numbers, smape, r2)]
    return Errors(len(pairs), len(known), *figures, *(round(float(n), 2) for n in band))


def _line(name: str, quantity: str, found: Errors) -> str:
    share = found.predicted / found.rows if found.rows else 0
    errors = f"median {found.median:6.1%}  90 % {found.ninety:6.1%}  largest {found.largest:6.1%}"
    fits = f"SMAPE {found.smape:5.1f} %  R2 {found.r2:6.3f}"
    return f"{name:34} {quantity:6} {found.predicted:2} of {found.rows:2} ({share:4.0%})  {errors}  {fits}"


def show(known: Constants, reports: tuple[Row, ...]) -> None:
    """Print the tables."""
    by = predictor(known)
    held = [row for row in reports if row.held_out]
    parts = {
        "fitted": [row for row in reports if not row.held_out and not row.failed],
        "held out": held,
        "held out: sweeps": [row for row in held if row.group == "sweep"],
        "held out: hls4ml tests": [row for row in held if row.group == "tests"],
        "held out: not zero cycles": [row for row in held if row.reported["cycles"]],
    }
    failed = [f"{row.design} at reuse factor {row.reuse_factor}: {row.failed}" for row in reports if row.failed]
    print(f"left out of the fit and its errors: {'; '.join(failed)}")
    for name, part in parts.items():
        for quantity in QUANTITIES:
            print(_line(name, quantity, measure(part, quantity, by)))
    for layers in (False, True):
        name = "reuse factor of all layers + const" if layers else "reuse factor + constant"
        for part in ("held out", "held out: sweeps"):
            print(_line(name, part[10:] or "all", measure(parts[part], "cycles", baseline(reports, layers=layers))))


def show_rows(known: Constants, reports: tuple[Row, ...]) -> None:
    """Print every held-out row: predicted / reported."""
    by = predictor(known)
    for row in reports:
        if row.held_out:
            cells = [f"{q} {by(row, q)}/{row.reported.get(q, '-')}" for q in QUANTITIES]
            print(f"{row.design:55} {row.version:14} RF {row.reuse_factor:6} {'  '.join(cells)}")


def as_toml(known: Constants) -> str:
    """Return the contents of constants.toml."""
    lines = [
        "# Constants of the vendor route (flow/vendor), our arithmetic on the vendor's reports.",
        "# Made by: python benchmarks/vendor_route.py --constants; docs/vendor_route.md explains them.",
        f'fitted_on = "{known.fitted_on}"',
        f"period_ns = [{known.period_ns[0]}, {known.period_ns[1]}] # clocks of the reports",
        f"stream_depth = {known.stream_depth} # cycles behind the last pixel: depthwise 1-D on streams",
        "",
        "[dense] # cycles: non-negative least squares on KERAS_3layer, reuse factors 2 and 4 to 64",
        *_fields(known.dense),
    ]
    for name, tool in (("vitis", known.vitis), ("vivado", known.vivado)):
        lines += [
            "",
            f"[{name}] # cycles: {NEWEST[name]}, tests of elu and of average pools of sequences",
            *_fields(tool),
        ]
    lines += [
        "",
        "[limits] # what the reports cover; DSP48E1 takes 25 x 18 bits (AMD UG479)",
        *_fields(known.limits),
        "",
        "[latency_strategy] # reported / predicted cycles: published networks of the Vivado days are much faster",
        f"low = {known.latency_strategy.low}",
        f"high = {known.latency_strategy.high}",
        f'source = "{known.latency_strategy.source}"',
    ]
    for quantity, errors in known.held_out.items():
        lines += ["", f"[held_out.{quantity}]", *_fields(errors)]
    return "\n".join(lines) + "\n"


def _fields(found: DenseConstants | ToolConstants | Limits | Errors) -> list[str]:
    return [f"{name} = {getattr(found, name)}" for name in found.__dataclass_fields__]


def main() -> None:
    """Fit, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--constants", action="store_true")
    options = parser.parse_args()
    if not REPORTS.is_dir():
        print(f"skipped: {REPORTS} is not there")
        return
    reports = rows()
    known = judged(fit(reports), reports)
    if options.constants:
        print(as_toml(known), end="")
        return
    show(known, reports)
    if options.rows:
        show_rows(known, reports)


if __name__ == "__main__":
    main()
