"""Convolutions of inputs that hls4ml codes 0 and 1: exact, or refused where it takes the codes for numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.frontend.border import to_graph
from flow.graph.window import Window
from tests.frontend.fake_source import activation_layer
from tests.frontend.test_border import EXACT, merged
from tests.frontend.test_border_conv import VALID, conv_layer, simulate
from tests.networks import Branches, power_of_two_quantizer, to_model

SUMS = {"result": "ap_fixed<10,6>", "bias": "ap_fixed<6,3>", "accum": "ap_fixed<12,7>"}
PLAIN = Window(4, 5, 2, (2, 3), (1, 1), VALID)
PIXELS = Window(1, 6, 4, (1, 1), (1, 1), VALID)


def binary_weights() -> Any:
    from hls4ml.model.quantizers import BinaryQuantizer

    return BinaryQuantizer(bits=1)


def behind_signs(layer: dict[str, Any], precision: dict[str, str], **knobs: int) -> Branches:
    """Describe a convolution behind a sign function whose output is coded 0 and 1."""
    from hls4ml.model.types import XnorPrecisionType

    image = [layer["in_height"]] if "in_height" in layer else []
    shape = [*image, layer["in_width"], layer["n_chan"]]
    start = {"name": "x", "class_name": "InputLayer", "input_shape": shape}
    signs = activation_layer("s", "x", int(np.prod(shape)), "binary_tanh", quantizer_precision=XnorPrecisionType())
    named = {"x": {"Precision": {"result": "ap_fixed<9,4>"}}, "c": {"Precision": precision, **knobs}}
    return Branches((start, signs, layer | {"inputs": ["s"]}), {"LayerName": named}, ("x",), ("c",))


@pytest.mark.eda
@pytest.mark.parametrize("io_type", ["io_parallel", "io_stream"])
def test_binary_inputs_equal_the_c_simulation(io_type: str, tmp_path: Path) -> None:
    model = to_model(
        merged(
            behind_signs(conv_layer(PLAIN, 3), EXACT),
            behind_signs(conv_layer(PLAIN, 3, weight_quantizer=binary_weights()), SUMS),
            behind_signs(conv_layer(PIXELS, 3, weight_quantizer=binary_weights()), SUMS),
        ),
        tmp_path,
        io_type=io_type,
    )
    found = simulate(model, tmp_path, 1)
    assert found.mismatches() == dict.fromkeys(found.graph.outputs, 0)


def padded() -> Branches:
    return behind_signs(conv_layer(Window(4, 5, 2, (2, 3), (1, 1), (0, 1, 1, 1)), 3), EXACT)


def shifted() -> Branches:
    precision = {which: text for which, text in EXACT.items() if which != "weight"}
    return behind_signs(conv_layer(PLAIN, 3, weight_quantizer=power_of_two_quantizer()), precision)


def all_at_once() -> Branches:
    layer = conv_layer(PIXELS, 3, weight_quantizer=binary_weights())
    return behind_signs(layer, SUMS, ParallelizationFactor=6)


def one_place() -> Branches:
    return behind_signs(conv_layer(Window(1, 3, 4, (1, 1), (1, 3), VALID), 3, weight_quantizer=binary_weights()), SUMS)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (padded, "padding of binary inputs"),
        (shifted, "power-of-two weights times binary inputs"),
        (all_at_once, "all 6 places at once"),
        (one_place, "all 3 places at once"),
    ],
)
def test_codes_that_are_taken_for_numbers_are_refused(make: Any, part: str) -> None:
    with pytest.raises(UserError, match=f"layer 'my c'.*{part}"):
        to_graph(to_model(make(), Path("unwritten")), name="net", label_of={"c": "my c"})
