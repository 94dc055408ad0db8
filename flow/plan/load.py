"""The load of a request: what arrives, how much of it the link carries, and what waits where."""

from __future__ import annotations

from flow.errors import UserError
from flow.latency.arrivals import MOST_ARRIVALS, draw, is_file
from flow.quantity import whole_bytes

LOADS = ("arrivals", "buffer", "overrun", "output_buffer")
"""The fields of a request that change what is reported, and nothing of the hardware."""


def check_load(arrivals: str | None, buffer: int | None, overrun: str, output_buffer: int | None) -> None:
    """Raise UserError for arrivals, buffers and a policy that mean nothing; a file is read when it is needed."""
    if arrivals is not None and not is_file(arrivals):
        draw(arrivals)
    if buffer is not None and not 0 <= buffer <= MOST_ARRIVALS:
        raise UserError(f"buffer = {buffer} is no number of inferences; write 0 to {MOST_ARRIVALS:,}, for example 16")
    if output_buffer is not None and not 1 <= output_buffer <= MOST_ARRIVALS:
        raise UserError(
            f"output_buffer = {output_buffer} is no number of inferences; write 1 to {MOST_ARRIVALS:,}, for example 16"
        )
    if overrun == "drop_old" and buffer == 0:
        raise UserError("overrun = drop_old needs a buffer of at least 1: without one nothing old waits; or drop_new")
    if overrun != "wait" and buffer is None:
        raise UserError(f"overrun = {overrun} drops where a buffer is full: say its depth, for example buffer = 16")


def check_payload(payload: str | None, name: str) -> None:
    """Raise UserError for a payload that is not a whole number of bytes."""
    if payload is not None:
        whole_bytes(payload, name)
