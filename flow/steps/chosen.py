"""Which model a command line names: MODEL, or a list of layers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flow.errors import UserError
from flow.fixed import parse_type
from flow.plan.request import Request
from flow.zoo import Subject, find_subject

if TYPE_CHECKING:
    from flow.steps.context import Options

_OF_LAYERS = ("bits", "sparsity", "seed", "input_type")


def chosen(options: Options) -> Subject:
    """Return the model of a command line; raise UserError unless it names exactly one."""
    if options.layers is not None and options.model is not None:
        raise UserError(f"both MODEL ('{options.model[:60]}') and --layers name a network; give one of them")
    if options.layers is not None:
        return _chain(options, options.layers)
    if options.model is None:
        raise UserError('no network is named; give a MODEL, or --layers "16-64-32-32-5" --bits 6')
    stray = next((name for name in _OF_LAYERS if getattr(options, name) is not None), None)
    if stray is not None:
        raise UserError(
            f"--{stray.replace('_', '-')} goes with --layers; a model has its own, and a layer list has a key for it"
        )
    return find_subject(options.model)


def spelled(options: Options) -> str:
    """Return the words that name the model on a command line."""
    if options.layers is None:
        return str(options.model)
    given = [(name.replace("_", "-"), getattr(options, name)) for name in ("layers", *_OF_LAYERS)]
    return " ".join(f'--{name} "{value}"' for name, value in given if value is not None)


def _chain(options: Options, layers: str) -> Subject:
    from flow.sketch.assemble import to_graph
    from flow.sketch.chain import chain_sketch

    try:
        kind = None if options.input_type is None else parse_type(options.input_type)
    except UserError as error:
        raise UserError(f"--input-type: {error}") from None
    sketch = chain_sketch(layers, options.bits, options.sparsity, seed=options.seed or 0, input_type=kind)
    return Subject(sketch.name, Path(sketch.name), Request(), None, to_graph(sketch))
