"""The vendor's HLS reports as rows: the network that was built, what was reported, and on which side of the split.

The split is by design: all rows of one network stand on one side, whatever its reuse factor, tool and version.
Fitted: the sweep of KERAS_3layer, and of hls4ml's own tests ELU, ReLU, depthwise 1-D and pools of sequences. Held out:
everything else. Networks are described from hls4ml's test/pytest/test_keras_api.py and example models, and from
dwn-fpga-study's cc/hls4ml/run_hls4ml.py; weights that no report gives are drawn as those scripts initialize them.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from flow.fixed import IntArray
from flow.vendor.area import needs_multiplier
from flow.vendor.layer import Kind, Layer, Network, Tool

REPORTS = Path(__file__).parents[2].parent / "shared" / "reference" / "vendor_reports"
QUANTITIES = ("cycles", "ii", "dsp", "bram")
FRACTION = 10  # bits of ap_fixed<16,6>
DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one report. reported: by quantity, where it says so. failed: why the compiler did not do as it was told."""

    design: str
    group: str
    version: str
    reuse_factor: int
    held_out: bool
    network: Network
    reported: dict[str, int]
    failed: str = ""


def rows(folder: Path = REPORTS) -> tuple[Row, ...]:
    """Read all reports of hls4ml through HLS; jedi_linear is Verilog from da4ml and no such report."""
    return (*_keras(folder), *_two_layers(folder), *_jets(folder), *_tests(folder))


def mlp(
    sizes: tuple[int, ...], factor: int, *, tool: Tool, bits: int = 16, softmax: bool, drawn: bool = False
) -> Network:
    """Return a chain of dense layers with ReLU between; drawn: Latency, with weights as PyTorch draws them."""
    layers: list[Layer] = []
    before: tuple[str, ...] = ()
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        limit = n_in**-0.5  # torch.nn.Linear
        products = _expected(n_in * n_out, np.random.default_rng(k).uniform(-limit, limit, DRAWS)) if drawn else 0
        layers.append(
            Layer(
                name=f"dense{k}",
                label=f"dense{k}",
                inputs=before,
                kind="dense",
                lanes=n_out,
                n_in=n_in,
                n_out=n_out,
                strategy="Latency" if drawn else "Resource",
                reuse_factor=min(factor, n_in * n_out),
                operand_bits=(bits, bits),
                products=products,
            )
        )
        last = k == len(sizes) - 2
        if not last or softmax:
            kind: Kind = "softmax" if last else "rectify"
            layers.append(
                Layer(
                    name=f"a{k}",
                    label=f"a{k}",
                    inputs=(f"dense{k}",),
                    kind=kind,
                    lanes=n_out,
                    lookups=(n_out * (n_out - 1), n_out),  # legacy, as softmax was in 2018
                    entries=1024,
                    entry_bits=18,
                )
            )
        before = (layers[-1].name,)
    return Network(tuple(layers), "io_parallel", tool)


def _keras(folder: Path) -> tuple[Row, ...]:
    """Read the sweep of KERAS_3layer; its header names four columns more than its rows have."""
    found = []
    for cells in _cells(folder / "hls4ml_2018_RF_stress_results_KERAS_3layer.csv"):
        factor, interval = int(cells[-2]), int(cells[8])
        failed = "" if interval == factor else f"II {interval:,} where {factor} was asked"
        reported = {"cycles": int(cells[6]), "ii": interval, "bram": int(cells[9]), "dsp": int(cells[10])}
        network = mlp((16, 64, 32, 32, 5), factor, tool="vivado", softmax=True)
        found.append(
            Row(
                "KERAS_3layer",
                "sweep",
                cells[0],
                factor,
                held_out=False,
                network=network,
                reported=reported,
                failed=failed,
            )
        )
    return tuple(found)


def _two_layers(folder: Path) -> tuple[Row, ...]:
    found = []
    for cells in _cells(folder / "hls4ml_2018_RF_stress_results_2layer_100x100.csv"):
        factor = int(cells[-2])
        reported = {"cycles": int(cells[6]), "ii": int(cells[8]), "bram": int(cells[9]), "dsp": int(cells[10])}
        network = mlp((100, 100, 100), factor, tool="vivado", softmax=False)
        found.append(
            Row("2layer_100x100", "sweep", cells[0], factor, held_out=True, network=network, reported=reported)
        )
    return tuple(found)


def _jets(folder: Path) -> tuple[Row, ...]:
    found = []
    with (folder / "dwn_study_hls4ml_jsc_vitis.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            factor, hidden = int(row["reuse"]), tuple(int(size) for size in row["layers"].split("x"))
            bits = int(re.findall(r"<(\d+)", row["precision"])[0])
            network = mlp((16, *hidden, 5), factor, tool="vitis", bits=bits, softmax=False, drawn=factor == 1)
            reported = {
                "cycles": int(row["latency_cycles"]),
                "ii": int(row["ii"]),
                "dsp": int(row["dsp"] or row["dsp_required"]),
            }
            if row["bram"]:
                reported["bram"] = int(row["bram"])
            design = f"jets {row['layers']}"
            found.append(Row(design, "sweep", "2025.2", factor, held_out=True, network=network, reported=reported))
    return tuple(found)


def _tests(folder: Path) -> tuple[Row, ...]:
    found = []
    with (folder / "hls4ml_pytest_csynth.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            case = re.sub(r"-?(Vitis|Vivado)", "", row["case"])
            reported = {
                "cycles": int(row["WorstLatency"]),
                "ii": int(row["IntervalMax"]),
                "dsp": int(row["DSP"]),
                "bram": int(row["BRAM_18K"]),
            }
            tool: Tool = "vitis" if row["tool"] == "Vitis" else "vivado"
            network = Network(_layers(case), "io_stream" if "io_stream" in case else "io_parallel", tool)
            fitted = re.search(r"-elu$|-relu$|depthwise1d|Pooling1D$", case)
            found.append(
                Row(
                    case,
                    "tests",
                    f"{row['tool']} {row['version']}",
                    1,
                    held_out=not fitted,
                    network=network,
                    reported=reported,
                )
            )
    return tuple(found)


def _layers(case: str) -> tuple[Layer, ...]:
    """Return the layers of one of hls4ml's tests."""
    rng = np.random.default_rng(0)
    if case.startswith("test_dense"):
        return (_one_input(2, rng.uniform(1, 10, DRAWS)), _activation("elu", 2))
    if case.startswith("test_activations"):
        limit = 3**0.5  # lecun_uniform of one input
        return (_one_input(64, rng.uniform(-limit, limit, DRAWS)), _activation(case.rpartition("-")[2], 64))
    if case.startswith("test_conv2d"):
        n_in, n_out = 4 * 4 * 3, 32
        products = _expected(n_in * n_out, rng.normal(0, 0.05, DRAWS))
        shape = {"pixels": 28 * 28, "places": 49, "columns": 28, "n_in": n_in, "n_out": n_out, "lanes": n_out}
        return (
            Layer(
                name="conv",
                label="conv",
                inputs=(),
                kind="conv",
                strategy="Resource",
                operand_bits=(16, 16),
                products=products,
                **shape,
            ),
        )
    if case.startswith("test_depthwise"):
        cells, pixels = (3, 32) if "1d" in case else (9, 32 * 32)
        shape = {"pixels": pixels, "columns": 32, "n_in": cells, "n_out": 3, "lanes": 3, "places": pixels}
        return (
            Layer(
                name="conv",
                label="conv",
                inputs=(),
                kind="depthwise",
                operand_bits=(32, 32),
                products=3 * cells,
                **shape,
            ),
        )
    kind: Kind = "max" if "Max" in case else "average"
    cells = 4 if "2D" in case else 2
    return (
        Layer(
            name="pool", label="pool", inputs=(), kind=kind, cells=cells, padded="same" in case, pixels=64, places=16
        ),
    )


def _one_input(n_out: int, weights: np.ndarray) -> Layer:
    products = _expected(n_out, weights)
    return Layer(
        name="dense",
        label="dense",
        inputs=(),
        kind="dense",
        lanes=n_out,
        n_in=1,
        n_out=n_out,
        operand_bits=(16, 16),
        products=products,
    )


def _activation(name: str, lanes: int) -> Layer:
    kind: Kind = "table" if name in {"elu", "sigmoid"} else "rectify"
    return Layer(
        name="act",
        label=name,
        inputs=("dense",),
        kind=kind,
        lanes=lanes,
        lookups=(lanes,),
        entries=1024,
        entry_bits=18,
    )


def _expected(count: int, weights: np.ndarray) -> float:
    """Return how many of so many weights, drawn as these, need a multiplier in ap_fixed<16,6>."""
    codes: IntArray = np.floor(weights * 2**FRACTION).astype(np.int64)
    return count * needs_multiplier(codes) / len(codes)


def _cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]
