"""The calibrated constants of the vendor route, with their origin and held-out errors."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

from flow.errors import UserError
from flow.vendor.layer import Tool


@dataclass(frozen=True, slots=True)
class DenseConstants:
    """Give the cycles of a matrix product beyond its reuse factor.

    depth: entering, multiplying, casting, leaving. level: each level of the adder tree. turn, turn_block: where a
    reuse factor is a multiple of the inputs, for the whole and per multiplier. uneven, uneven_block, odd: of reuse
    factors that hls4ml rounds away today (no divisor of the inputs; above them and no multiple): they judge the old
    sweeps only.
    """

    depth: float
    level: float
    turn: float
    turn_block: float
    uneven: float
    uneven_block: float
    odd: float


@dataclass(frozen=True, slots=True)
class ToolConstants:
    """Give cycles of one compiler: a table look-up with whole tensors and in a stream, a padded average's division."""

    table: int
    streamed_table: int
    padded_average: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Give what the reports cover: nothing is said beyond.

    operand_bits: narrowest and widest pair of operands that took one DSP each. pool_cells: under a window.
    line_columns: of a streamed image. table_entries: of a table in block RAM.
    """

    operand_bits_min: int
    operand_bits_wide: int
    operand_bits_narrow: int
    pool_cells: int
    line_columns: int
    table_entries: int


@dataclass(frozen=True, slots=True)
class Errors:
    """Give the errors on designs that were not fitted to, as |predicted - reported| / reported.

    rows: reported figures. predicted: of them. median, ninety, largest: of the errors where the reported figure is not
    zero; ninety: 90 % of them are at most this. smape: in percent, zeros included. r2: 1 - residual / total squares.
    low, high: reported / predicted, below and above which 5 % of the figures each lie; 1 where all agree.
    """

    rows: int
    predicted: int
    median: float
    ninety: float
    largest: float
    smape: float
    r2: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LatencyStrategy:
    """Give lowest and highest reported / predicted cycles of networks of dense layers under Latency, with sources."""

    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class Constants:
    """Hold all constants.

    period_ns: the clocks of the reports, least and largest. held_out: errors by quantity (cycles, ii, dsp, bram), and
    dense_cycles: of the sweeps over networks of dense layers alone.
    """

    fitted_on: str
    period_ns: tuple[float, float]
    dense: DenseConstants
    stream_depth: int
    vitis: ToolConstants
    vivado: ToolConstants
    limits: Limits
    latency_strategy: LatencyStrategy
    held_out: dict[str, Errors]

    def tool(self, name: Tool) -> ToolConstants:
        """Return one compiler's constants."""
        return self.vitis if name == "vitis" else self.vivado


@cache
def constants() -> Constants:
    """Read `constants.toml`."""
    text = files("flow.vendor").joinpath("constants.toml").read_text(encoding="utf-8")
    try:
        return TypeAdapter(Constants).validate_python(tomllib.loads(text))
    except ValueError as error:
        raise UserError(f"flow/vendor/constants.toml cannot be read: {error}") from error
