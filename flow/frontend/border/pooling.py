"""Max and average pooling, windowed and global."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from flow.errors import UserError
from flow.fixed import FixedType
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, is_integer, is_xnor, no_integer_bits, no_small_to_integer
from flow.graph.nodes import Pool
from flow.graph.nodes.pool import Arithmetic
from flow.graph.window import Window


def pool(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Pool:
    """Translate pooling under a window that slides."""
    _channels_last(layer, where)
    window = _window(layer, where)
    streamed = layer.model.config.get_config_value("IOType") == "io_stream"
    if streamed:
        _streamable(layer, window, where)
    return _pool(copy, layer, where, common, window=window, arithmetic="streamed" if streamed else "parallel")


def global_pool(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Pool:
    """Translate pooling over all pixels."""
    _channels_last(layer, where)
    rows = int(layer.get_attr("in_height", 1)) if layer.class_name.endswith("2D") else 1
    columns = int(layer.get_attr("in_width") if layer.class_name.endswith("2D") else layer.get_attr("n_in"))
    kernel = rows, columns
    window = Window(rows, columns, int(layer.get_attr("n_filt")), kernel, kernel, (0, 0, 0, 0))
    streamed = layer.model.config.get_config_value("IOType") == "io_stream"
    return _pool(copy, layer, where, common, window=window, arithmetic="running" if streamed else "parallel")


def _channels_last(layer: Any, where: str) -> None:
    if layer.get_attr("data_format") == "channels_first":
        raise UserError(
            f"{where}: data_format 'channels_first' is not supported, hls4ml pools it wrongly; use 'channels_last'"
        )


def _window(layer: Any, where: str) -> Window:
    """Return the window; hls4ml says how many places it takes, which must be what its loops go through."""

    def number(name: str) -> int:
        return int(layer.get_attr(name))

    if layer.class_name.endswith("1D"):
        rows, columns, places = 1, number("n_in"), (1, number("n_out"))
        kernel, stride = (1, number("pool_width")), (1, number("stride_width"))
        pads = 0, 0, number("pad_left"), number("pad_right")
    else:
        rows, columns = number("in_height"), number("in_width")
        places = number("out_height"), number("out_width")
        kernel = number("pool_height"), number("pool_width")
        stride = number("stride_height"), number("stride_width")
        pads = number("pad_top"), number("pad_bottom"), number("pad_left"), number("pad_right")
    try:
        window = Window(rows, columns, number("n_filt"), kernel, stride, pads)
    except ValueError as error:
        raise UserError(f"{where}: {error}; use a smaller pool_size") from None
    if window.positions != places:
        raise UserError(
            f"{where}: a pool_size of {kernel} with strides {stride} and padding {pads} takes {window.positions} "
            f"places, hls4ml expects {places}; use padding 'valid' or 'same'"
        )
    if not (window.taps() >= 0).any(axis=1).all():
        raise UserError(f"{where}: padding {pads} puts a pool of {kernel} outside of the image; use less padding")
    return window


def _streamable(layer: Any, window: Window, where: str) -> None:
    """Refuse what the C++ program stops at, or what reads other pixels than it should."""
    if any(window.pads):
        raise UserError(
            f"{where}: hls4ml has no padding {window.pads} in io_stream pooling; use padding 'valid', or io_parallel"
        )
    if layer.class_name.endswith("2D") and window.stride != window.kernel:
        raise UserError(
            f"{where}: hls4ml's io_stream pooling needs strides {window.stride} equal to the pool_size "
            f"{window.kernel}; make them equal, or use io_parallel"
        )
    implementation = str(layer.get_attr("implementation"))
    if implementation != "linebuffer":
        raise UserError(f"{where}: ConvImplementation '{implementation}' is not supported; LineBuffer is")


def _pool(
    copy: Copy, layer: Any, where: str, common: dict[str, Any], *, window: Window, arithmetic: Arithmetic
) -> Pool:
    op: Literal["max", "average"] = "max" if layer.get_attr("pool_op") == "Max" else "average"
    source = layer.get_input_variable().type.precision
    accumulator_precision = layer.get_attr("accum_t").precision
    x = copy.type_before(common)
    if op == "max" and any(window.pads) and (is_xnor(source) or not x.signed):
        raise UserError(
            f"{where}: hls4ml takes half of the range of its input's type {x} for padded cells, which may be the "
            "largest; use a signed type, or padding 'valid'"
        )
    if is_xnor(source):  # its codes 0 and 1 have the order of the values
        _holds_codes(accumulator_precision, where)
        accumulator = x
    else:
        accumulator = fixed_type(accumulator_precision, f"{where}: accumulator")
        _no_integer_accumulator(layer, op, accumulator, where)
        no_small_to_integer(accumulator_precision, layer, where)
    node = Pool(
        **common,
        window=window,
        op=op,
        accumulator=accumulator,
        arithmetic=arithmetic,
        count_padding=op == "average" and any(window.pads) and bool(layer.get_attr("count_pad")),
    )
    if op == "average":
        _warn_of_overflow(copy, node, x)
    return node


def _holds_codes(accumulator_precision: Any, where: str) -> None:
    """Refuse an accumulator that cannot tell the codes 0 and 1 of binary values apart."""
    if is_xnor(accumulator_precision):
        return
    kind = fixed_type(accumulator_precision, f"{where}: accumulator")
    if kind.fraction < 0 or kind.hi >> kind.fraction < 1:
        raise UserError(f"{where}: the accumulator type {kind} cannot hold the code 1 of binary values; use 'auto'")


def _warn_of_overflow(copy: Copy, node: Pool, x: FixedType) -> None:
    """Say so when the sum of the cells can leave the accumulator."""
    accumulator, cells = node.accumulator, int((node.window.taps() >= 0).sum(axis=1).max())
    low, high = min(x.lo, 0) * cells * Fraction(2) ** -x.fraction, max(x.hi, 0) * cells * Fraction(2) ** -x.fraction
    step = Fraction(2) ** -accumulator.fraction
    if low < accumulator.lo * step or high >= (accumulator.hi + 1) * step:
        copy.notes.append(
            f"layer '{node.label}': sums of {cells} cells can reach {float(low):g} … {float(high):g}, beyond the "
            f"accumulator {accumulator}"
        )


def _no_integer_accumulator(layer: Any, op: str, accumulator: FixedType, where: str) -> None:
    """Refuse averages in an ap_int, which divides in other widths, and casts to it that the C++ types get wrong."""
    source = layer.get_input_variable().type.precision
    if not is_integer(layer.get_attr("accum_t").precision):
        return
    if op == "average":
        name = f"{'' if accumulator.signed else 'u'}int<{accumulator.width}>"
        raise UserError(
            f"{where}: averages in the accumulator type {name} are not supported; use 'auto' or {accumulator.exact()}"
        )
    if source.signed and source.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('accumulator', accumulator)}")


POOLINGS: Mapping[str, Callable[[Copy, Any, str, dict[str, Any]], Pool]] = MappingProxyType(
    {"Pooling1D": pool, "Pooling2D": pool, "GlobalPooling1D": global_pool, "GlobalPooling2D": global_pool}
)
"""What translates which class of layers."""
