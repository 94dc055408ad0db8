"""A window that slides over an image which comes beat by beat: what must be kept, and when each window is there.

Facets 1 and 2 of the line buffer; `flow_window.sv` is its hardware. A beat holds `pixels` neighbouring pixels of a row,
so that a row has `columns` beats; the window counts in beats, too. With every beat the buffer moves on by one; a window
is complete with the beat at its lower right corner. Where that corner lies outside the image, the buffer moves on by
itself once the last beat has come, `pace` cycles a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from flow.graph.window import Window
from flow.latency.schedule import Schedule

RowStore = Literal["registers", "lutram", "bram"]


@dataclass(frozen=True, slots=True)
class LineBuffer:
    """Describe a line buffer.

    rows, columns: of the image, in beats. kernel, stride: (rows, columns), in beats. top, left: beats outside the
    image. out: windows, (rows, columns). pace: cycles between steps that no beat brings. store: of the rows above.
    """

    rows: int
    columns: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    top: int
    left: int
    out: tuple[int, int]
    pace: int
    store: RowStore

    def __post_init__(self) -> None:
        if min(self.rows, self.columns, *self.kernel, *self.stride, *self.out, self.pace) < 1:
            raise ValueError(f"a line buffer of {self.kernel} beats, stride {self.stride}, {self.out} windows")
        if self.lead < 0 or (self.out[1] - 1) * self.stride[1] >= self.columns:
            raise ValueError(f"windows that lie more than a row beyond the image: pads {self.top}, {self.left}")
        if (self.store == "registers") != (self.kept_columns < 2) and self.store != "registers":
            raise ValueError("rows of less than two beats are kept in registers")

    @property
    def kept_columns(self) -> int:
        """Return the beats of a row above that are kept, 0 where the kernel has one row."""
        return self.columns if self.kernel[0] > 1 else 0

    @property
    def beats(self) -> int:
        """Return the beats of an image."""
        return self.rows * self.columns

    @property
    def windows(self) -> int:
        """Return the windows of an image."""
        return self.out[0] * self.out[1]

    @property
    def lead(self) -> int:
        """Return the steps from the beat at a window's origin to the one at its lower right corner."""
        return (self.kernel[0] - 1 - self.top) * self.columns + self.kernel[1] - 1 - self.left

    @property
    def last(self) -> int:
        """Return the step that completes the last window; the first beat makes step 0."""
        return self.lead + (self.out[0] - 1) * self.stride[0] * self.columns + (self.out[1] - 1) * self.stride[1]

    @property
    def flush(self) -> int:
        """Return the steps behind the last beat."""
        return max(0, self.last - self.beats + 1)

    def corners(self) -> tuple[int, ...]:
        """Return the step that completes each window."""
        across = [column * self.stride[1] for column in range(self.out[1])]
        down = [row * self.stride[0] * self.columns for row in range(self.out[0])]
        lead = self.lead
        return tuple([lead + row + column for row in down for column in across])

    def schedule(self, arrival: Schedule) -> Schedule:
        """Return when the windows are there: the cycle after the step that completes them."""
        steps = [*arrival.cycles, *(arrival.last + k * self.pace for k in range(1, self.flush + 1))]
        return Schedule(tuple([steps[corner] + 1 for corner in self.corners()]))

    def interval(self, arrival: Schedule) -> int:
        """Return the cycles before the next image may begin.

        Beats of the next image move the last windows on as well as empty steps do, where both come every cycle;
        elsewhere its first beat may make the last step.
        """
        span = arrival.last - arrival.first + 1
        seamless = span == self.beats and self.pace == 1 and self.lead < self.beats
        return span if seamless or not self.flush else span - 1 + self.flush * self.pace


@dataclass(frozen=True, slots=True)
class Beats:
    """Say how a window in pixels looks in beats.

    pixels_in, pixels_out: pixels of a beat that comes, output pixels that its window makes. columns, kernel, stride,
    left: in beats of a row. offset: pixels from the window's first one to that under the kernel's first cell.
    """

    pixels_in: int
    pixels_out: int
    columns: int
    kernel: int
    stride: int
    left: int
    offset: int


def in_beats(window: Window, pixels: int) -> Beats | None:
    """Return a window in beats of `pixels` pixels; None where the beats do not divide the rows evenly."""
    step, pad = window.stride[1], window.pads[2]
    common = gcd(pixels, step)
    out = pixels // common
    if window.columns % pixels or window.positions[1] % out:
        return None
    left = -(-pad // pixels)
    end = (out - 1) * step - pad + window.kernel[1] - 1  # the last pixel that is needed, from the beat of the first
    return Beats(
        pixels,
        out,
        window.columns // pixels,
        left + end // pixels + 1,
        step // common,
        left,
        left * pixels - pad,
    )


def line_buffer(window: Window, pixels: int, pace: int, store: RowStore) -> LineBuffer | None:
    """Return the line buffer of a window for beats of `pixels` pixels; None where there is none."""
    beats = in_beats(window, pixels)
    if beats is None:
        return None
    kept = beats.columns if window.kernel[0] > 1 else 0
    try:
        return LineBuffer(
            window.rows,
            beats.columns,
            (window.kernel[0], beats.kernel),
            (window.stride[0], beats.stride),
            window.pads[0],
            beats.left,
            (window.positions[0], window.positions[1] // beats.pixels_out),
            pace,
            store if kept > 1 else "registers",
        )
    except ValueError:
        return None
