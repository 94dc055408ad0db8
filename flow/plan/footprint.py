"""What plans compete for, and how much of a part they take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flow.device.parts import Kind, Part
from flow.engines.engine import Resources

KINDS: tuple[Kind, ...] = ("lut", "ff", "dsp", "bram")
"""Resources that plans compete for; nothing is put into UltraRAM, which has no initial contents."""
HALVES = (1, 1, 2, 2)
"""Units in which they are counted: half blocks add up, whole ones do not."""
SCARCE = 16.0
"""How much more a resource weighs that the rest of the design needs."""
NO_LIMIT = 1 << 40
"""More of anything than a plan can take."""


def counted(resources: Resources) -> tuple[int, ...]:
    """Return the counts of the resources that plans compete for, a half block counted whole."""
    return tuple(getattr(resources, kind) for kind in KINDS)


def usable(part: Part) -> tuple[int, ...]:
    """Return what a plan may use of each."""
    return tuple(getattr(part, f"usable_{kind}") for kind in KINDS)


def lacking(resources: Resources, part: Part) -> tuple[str, ...]:
    """Return the resources of which a part has not enough."""
    return tuple(k for k, used, most in zip(KINDS, counted(resources), usable(part), strict=True) if used > most)


def area_weights(part: Part, spare: tuple[str, ...]) -> NDArray[np.float64]:
    """Return what one of each resource adds to the area: its share of the usable ones, more for those to spare."""
    most = np.array(usable(part), dtype=np.int64)
    return np.asarray(np.where(np.isin(KINDS, spare), SCARCE, 1.0) / np.maximum(most, 1))


def area_of(resources: Resources, part: Part, spare: tuple[str, ...] = ()) -> float:
    """Return the area: the sum over resources of used over usable on the part; infinite where it has not enough.

    spare: resources that count SCARCE times.
    """
    if lacking(resources, part):
        return float("inf")
    return float(np.array(counted(resources)) @ area_weights(part, spare))
