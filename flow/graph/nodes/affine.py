"""A constant scale and bias per channel: batch normalization and QKeras' alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from flow.fixed import FixedArray, FixedType, cast, integers
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Affine(Node):
    """Compute `x * scale + bias` along the last axis, exact before the assignment to the output type.

    scale, bias: raw integers, shape (last axis,). As hls4ml's `normalize` (nnet_batchnorm.h).
    """

    elementwise: ClassVar[bool] = True

    scale: Codes
    bias: Codes
    scale_type: FixedType
    bias_type: FixedType
    kind: Literal["affine"] = "affine"

    @property
    def multiplications(self) -> int:
        """Return one per element."""
        return self.size

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Scale and shift element by element."""
        (x,) = args
        product_fraction = x.type.fraction + self.scale_type.fraction
        fraction = max(product_fraction, self.bias_type.fraction)
        up, bias_up = fraction - product_fraction, fraction - self.bias_type.fraction
        bits = max(x.type.width + self.scale_type.width + up, self.bias_type.width + bias_up) + 1
        total = (integers(x.raw, bits) * integers(self.scale, bits)) << up
        total = total + (integers(self.bias, bits) << bias_up)
        return FixedArray(cast(total, fraction, self.type, bits), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes and that all codes lie in their types."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        channels = (self.shape[-1],) if self.shape else ()
        if self.scale.shape != channels or self.bias.shape != channels:
            found.append(f"scale {self.scale.shape} and bias {self.bias.shape} should have shape {channels}")
        for name, codes, kind in (("scale", self.scale, self.scale_type), ("bias", self.bias, self.bias_type)):
            if codes.size and not (kind.lo <= int(codes.min()) and int(codes.max()) <= kind.hi):
                found.append(f"a {name} is outside {kind}")
        return tuple(found)
