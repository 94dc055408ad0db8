"""Types of single layers in a request: what hls4ml's configuration calls LayerName, Precision."""

from __future__ import annotations

from collections.abc import Mapping

from flow.errors import UserError
from flow.fixed import parse_type


def check_precision(precision: Mapping[str, str | Mapping[str, str]]) -> None:
    """Raise UserError for a type that is none; the model's layers are not known here."""
    for layer, given in precision.items():
        texts = {layer: given} if isinstance(given, str) else {f"{layer}.{name}": kind for name, kind in given.items()}
        for where, text in texts.items():
            if text == "auto":
                continue
            try:
                parse_type(text)
            except UserError as error:
                raise UserError(f"precision.{where}: {error}") from None
