"""Take a pack of cases from Keras to simulated hardware, and judge each for itself.

Framework, hls4ml's C simulation and evaluator are compared by `convert`, the RTL and the cycles of every beat by
`prove`. Where anything of a pack fails, its halves are judged, down to single cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flow.engines.dataflow import dataflow
from flow.errors import UserError, VerificationError
from flow.fixed import IntArray
from flow.frontend.border import to_graph
from flow.frontend.convert import Conversion, convert
from flow.frontend.keras import import_keras
from flow.frontend.load import load
from flow.frontend.source import Source
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from tests.conformance.layers.case import Case, IoType
from tests.conformance.layers.suite import Pack
from tests.conformance.random_designs import RandomDesign, prove

VECTORS = 40
PRECISION = "fixed<10,4>"
PART, CLOCK = "xcvu13p", "5ns"


@dataclass(frozen=True, slots=True)
class Found:
    """Say what became of a case; words: the refusal, the notes of a conversion, or what is wrong."""

    kind: Literal["exact", "refused", "not built", "wrong"]
    words: str = ""


class NotBuiltError(Exception):
    """Say that a converted network has no hardware, with the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Hold the model of a pack.

    vectors: floats by input in declared order. outputs: how many each case has.
    """

    model: Any
    config: dict[str, Any]
    vectors: tuple[NDArray[np.float64], ...]
    outputs: tuple[int, ...]
    sites: tuple[str, ...]


def together(cases: tuple[Case, ...], io_type: IoType) -> Together:
    """Return one Keras model of all cases side by side, each with inputs of its own, and its configuration."""
    keras, _ = import_keras()
    inputs: list[Any] = []
    outputs: list[Any] = []
    counts: list[int] = []
    vectors: list[NDArray[np.float64]] = []
    layers: dict[str, Any] = {}
    sites = tuple(f"s{number:02}" for number in range(len(cases)))
    for case, site in zip(cases, sites, strict=True):
        rng = np.random.default_rng(list(case.name.encode()))
        own = [keras.Input(shape, name=f"{site}_x{k}") for k, shape in enumerate(case.shapes)]
        made = case.build(site, *own)
        ends = made if isinstance(made, list) else [made]
        set_weights(keras.Model(own, ends), rng)
        inputs += own
        outputs += ends
        counts.append(len(ends))
        vectors += [case.draw(rng, (VECTORS, *shape)) for shape in case.shapes]
        layers |= {f"{site}{suffix}": dict(settings) for suffix, settings in case.settings.items()}
    section = {"Precision": PRECISION, "SkipSoftmax": False, **cases[0].section}
    config = {"IOType": io_type, "HLSConfig": {"Model": section, "LayerName": layers}}
    model = keras.Model(inputs, outputs, name="pack")
    return Together(model, config, tuple(vectors), tuple(counts), sites)


def set_weights(model: Any, rng: np.random.Generator) -> None:
    """Give every variable values of few bits, among them both signs and zero."""
    for layer in model.layers:
        for variable in layer.weights:
            if variable.dtype.startswith("float"):
                low = 0.5 if "variance" in variable.name else -1.25
                variable.assign(np.rint(rng.uniform(low, 1.25, variable.shape) * 8) / 8)


def refusal(case: Case, io_type: IoType, folder: Path) -> Found:
    """Return what a case is refused with, or "exact" where a conversion (without a compiler) takes it."""
    try:
        pack = together((case,), io_type)
        source = load(pack.model, pack.config)
        to_graph(source.convert(folder), name="case", label_of=source.label_of)
    except UserError as error:
        return Found("refused", str(error))
    return Found("exact")


def judge(pack: Pack, folder: Path) -> Mapping[str, Found]:
    """Return by name what becomes of each case."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _all_exact(pack, folder)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what this suite looks for)
        if len(pack.cases) == 1:
            return {pack.cases[0].name: _fault(error)}
    found = {case.name: refusal(case, pack.io_type, folder) for case in pack.cases}
    found = {name: fate for name, fate in found.items() if fate.kind == "refused"}
    rest = tuple(case for case in pack.cases if case.name not in found)
    half = len(rest) if found else -(-len(rest) // 2)
    for number, part in enumerate((rest[:half], rest[half:])):
        if part:
            found |= judge(Pack(pack.io_type, part), folder / str(number))
    return found


def _fault(error: Exception) -> Found:
    if isinstance(error, UserError):
        return Found("refused", str(error))
    if isinstance(error, NotBuiltError):
        return Found("not built", str(error))
    if isinstance(error, VerificationError):
        return Found("wrong", str(error))
    return Found("wrong", f"{type(error).__name__}: {error}")


def _all_exact(pack: Pack, folder: Path) -> dict[str, Found]:
    """Return the findings where everything is right; raise what is wrong."""
    made = together(pack.cases, pack.io_type)
    source: Source = load(made.model, made.config)
    done = convert(source, made.vectors, folder / "convert")
    prove_hardware(done, folder / "hardware", pack.budget)
    outputs = list(done.outputs.values())
    found: dict[str, Found] = {}
    for case, site, count in zip(pack.cases, made.sites, made.outputs, strict=True):
        own, outputs = outputs[:count], outputs[count:]
        _check_telling(case, own)
        notes = [note for note in done.notes if f"'{site}" in note or len(pack.cases) == 1]
        found[case.name] = Found("exact", "; ".join(notes))
    return found


def _check_telling(case: Case, outputs: list[IntArray]) -> None:
    """Raise VerificationError unless the vectors make a difference: else nothing was shown."""
    values = np.concatenate([y.reshape(len(y), -1) for y in outputs], axis=1)
    moving = np.any(values != values[0], axis=0)
    if moving.mean() < 0.3:
        raise VerificationError(f"{case.name}: only {moving.sum()} of {moving.size} output elements ever change")


def prove_hardware(done: Conversion, folder: Path, budget: str | None) -> None:
    """Build the hardware of a conversion and compare outputs, and all beats of all edges, with what is due.

    Raises NotBuiltError where no plan is found and VerificationError for what is wrong.
    """
    request = Request(part=PART, clock=CLOCK, budget=budget)
    try:
        plan = make_plan(done.graph, request)
        design = realize(done.graph, request, plan)
    except UserError as error:
        raise NotBuiltError(str(error)) from error
    flow = dataflow(done.graph, design.plan.choices, design.plan.traffic)
    told = "\n".join(map(str, design.plan.choices))
    built = RandomDesign(done.graph, design.timeline, design.modules, design.signature, told, flow)
    proof = prove(built, folder, done.inputs, outputs=done.outputs)
    if proof.faults:
        raise VerificationError("; ".join(proof.faults))
