"""Line buffers: geometry in beats, and when windows are there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from flow.engines.line_buffer import LineBuffer, in_beats, line_buffer
from flow.graph.window import Window
from flow.latency.schedule import Schedule, evenly


def _buffer(window: Window, pixels: int = 1, pace: int = 1) -> LineBuffer:
    found = line_buffer(window, pixels, pace, "registers")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("window", "first", "count", "flush"),
    [
        (Window(5, 6, 2, (3, 3), (1, 1), (0, 0, 0, 0)), 2 * 6 + 2, 12, 0),
        (Window(5, 6, 2, (3, 3), (1, 1), (1, 1, 1, 1)), 6 + 1, 30, 7),
        (Window(5, 6, 2, (3, 3), (2, 2), (0, 1, 0, 1)), 2 * 6 + 2, 2 * 3, 1),
        (Window(1, 7, 3, (1, 3), (1, 1), (0, 0, 2, 0)), 0, 7, 0),
        (Window(1, 7, 3, (1, 1), (1, 3), (0, 0, 0, 0)), 0, 3, 0),
        (Window(4, 4, 1, (4, 4), (1, 1), (0, 0, 0, 0)), 15, 1, 0),
    ],
)
def test_windows_are_complete_with_the_beat_at_their_corner(window: Window, first: int, count: int, flush: int) -> None:
    buffer = _buffer(window)
    assert (buffer.lead, buffer.windows, buffer.flush) == (first, count, flush)
    arrival = evenly(0, buffer.beats, 1)
    cycles = buffer.schedule(arrival).cycles
    assert cycles[0] == first + 1
    assert len(cycles) == count


def test_every_window_waits_for_its_last_pixel_and_no_longer_than_the_order_of_windows_asks() -> None:
    window = Window(5, 6, 1, (3, 3), (1, 1), (1, 1, 1, 1))
    buffer = _buffer(window)
    last_pixel = window.taps().max(axis=1)
    cycles = np.array(buffer.schedule(evenly(0, 30, 1)).cycles)
    assert np.all(cycles >= last_pixel + 1)
    assert cycles[-1] == 30 + buffer.flush


def test_steps_behind_the_last_beat_keep_the_pace() -> None:
    buffer = _buffer(Window(3, 3, 1, (3, 3), (1, 1), (1, 1, 1, 1)), pace=4)
    cycles = buffer.schedule(evenly(0, 9, 4)).cycles
    assert {b - a for a, b in pairwise(cycles)} == {4}


def test_the_interval_counts_the_steps_behind_the_last_beat_unless_the_next_image_brings_them() -> None:
    buffer = _buffer(Window(5, 6, 1, (3, 3), (1, 1), (1, 1, 1, 1)))
    assert buffer.interval(evenly(0, 30, 1)) == 30
    assert buffer.interval(Schedule((*range(29), 30))) == 30 + 7
    assert _buffer(Window(5, 6, 1, (3, 3), (1, 1), (1, 1, 1, 1)), pace=2).interval(evenly(0, 30, 2)) == 58 + 14


def _windows_of_beats(window: Window, pixels: int) -> list[list[set[int]]]:
    """Return for each window in beats and output pixel the real pixels under the kernel, by the geometry in beats."""
    beats = in_beats(window, pixels)
    assert beats is not None
    found = []
    for row in range(window.positions[0]):
        for column in range(window.positions[1] // beats.pixels_out):
            first = (column * beats.stride - beats.left) * pixels
            outs = []
            for out in range(beats.pixels_out):
                cells = set()
                for r in range(window.kernel[0]):
                    for c in range(window.kernel[1]):
                        at = beats.offset + out * window.stride[1] + c
                        assert 0 <= at < beats.kernel * pixels
                        y, x = row * window.stride[0] - window.pads[0] + r, first + at
                        if 0 <= y < window.rows and 0 <= x < window.columns:
                            cells.add(y * window.columns + x)
                outs.append(cells)
            found.append(outs)
    return found


@pytest.mark.parametrize("pixels", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize(
    "window",
    [
        Window(3, 12, 1, (3, 3), (1, 1), (1, 1, 1, 1)),
        Window(4, 12, 1, (2, 5), (2, 1), (0, 0, 2, 2)),
        Window(4, 12, 1, (3, 3), (2, 2), (0, 1, 0, 1)),
        Window(2, 12, 1, (1, 1), (1, 3), (0, 0, 0, 0)),
        Window(1, 12, 1, (1, 4), (1, 1), (0, 0, 3, 0)),
        Window(4, 12, 1, (2, 2), (2, 2), (0, 0, 0, 0)),
    ],
)
def test_windows_in_beats_hold_the_pixels_of_windows_in_pixels(window: Window, pixels: int) -> None:
    if in_beats(window, pixels) is None:
        assert window.positions[1] % max(1, pixels // np.gcd(pixels, window.stride[1]))
        return
    by_beats = [cells for outs in _windows_of_beats(window, pixels) for cells in outs]
    assert by_beats == [set(row[row >= 0].tolist()) for row in window.taps()]


def test_what_no_line_buffer_can_do_is_none() -> None:
    assert line_buffer(Window(3, 4, 1, (1, 1), (1, 1), (1, 0, 0, 0)), 1, 1, "registers") is None
    assert line_buffer(Window(3, 4, 1, (1, 2), (1, 1), (0, 0, 2, 2)), 1, 1, "registers") is None
    assert line_buffer(Window(3, 4, 1, (3, 3), (1, 1), (0, 0, 0, 0)), 3, 1, "registers") is None
