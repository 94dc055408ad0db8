"""Layer lists of a command line: `16-64-32-32-5`."""

from __future__ import annotations

import re

from flow.errors import UserError
from flow.fixed import FixedType
from flow.sketch import layers

EXAMPLE = '--layers "16-64-32-32-5"'


def chain_sketch(
    text: str,
    bits: str | None,
    sparsity: str | None = None,
    *,
    seed: int = 0,
    input_type: FixedType | None = None,
) -> layers.Sketch:
    """Return a chain of dense layers with ReLUs between them; the last layer is linear.

    text: inputs, units of each layer, joined by `-`. bits: of weights, biases and the ReLU behind, one number or one
    for each layer, joined by `,`. sparsity: likewise. Raises UserError naming the option.
    """
    sizes = _sizes(text)
    if bits is None:
        raise UserError(f"--layers {text} needs --bits: those of weights and activations, for example --bits 6")
    count = len(sizes) - 1
    widths = [_bits(word, bits) for word in _listed(bits, count, "--bits")]
    sparse = "0" if sparsity is None else sparsity
    fractions = [_sparsity(word, sparse) for word in _listed(sparse, count, "--sparsity")]
    if not 0 <= seed < 1 << 63:
        raise UserError(f"--seed {seed}: give a number from 0 to 2^63 - 1")
    found: list[layers.Layer] = []
    for k, units in enumerate(sizes[1:]):
        found.append(layers.Dense(units=units, bits=widths[k], sparsity=fractions[k]))
        if k < count - 1:
            found.append(layers.Relu(bits=widths[k]))
    return layers.Sketch(
        origin="--layers",
        name="dense_" + "_".join(map(str, sizes)),
        shape=(sizes[0],),
        type=input_type,
        bits=widths[0],
        seed=seed,
        layers=tuple(found),
    )


def _sizes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\s*[0-9]{1,18}(\s*-\s*[0-9]{1,18})+\s*", text):
        raise UserError(f"--layers '{text[:60]}' is not inputs and units joined by '-'; write for example {EXAMPLE}")
    sizes = tuple(int(word) for word in text.split("-"))
    if len(sizes) > layers.MOST_LAYERS:
        raise UserError(f"--layers: {len(sizes) - 1} layers; {layers.MOST_LAYERS - 1} are taken at most")
    wrong = [size for size in sizes if not 1 <= size <= layers.MOST_SIZE]
    if wrong:
        raise UserError(f"--layers {text[:60]}: {wrong[0]} is not from 1 to {layers.MOST_SIZE}")
    return sizes


def _listed(text: str, count: int, option: str) -> list[str]:
    """Return one word for each layer."""
    words = [word.strip() for word in text.split(",")]
    if len(words) == 1:
        return words * count
    if len(words) != count:
        raise UserError(
            f"{option} {text[:60]}: {len(words)} values for {count} layers; give one, or one for each layer"
        )
    return words


def _bits(word: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", word) or not 2 <= int(word) <= layers.MOST_BITS:
        raise UserError(f"--bits {text[:60]}: '{word[:20]}' is not a number from 2 to {layers.MOST_BITS}")
    return int(word)


def _sparsity(word: str, text: str) -> float:
    if not re.fullmatch(r"0|0?\.[0-9]{1,9}|0\.", word):
        raise UserError(f"--sparsity {text[:60]}: '{word[:20]}' is not a fraction from 0 to below 1, for example 0.5")
    return float(word)
