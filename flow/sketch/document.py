"""Layer lists in YAML files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from flow.errors import UserError, nearest
from flow.fixed import parse_type
from flow.sketch import layers
from flow.sketch.layers import Bits, Integer, Name, Seed, Shape, Sparsity

_T = TypeVar("_T")
MOST_BYTES = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    __pydantic_config__ = ConfigDict(extra="forbid")

    shape: Shape
    type: str | None = None
    name: Name = "features"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    __pydantic_config__ = ConfigDict(extra="forbid")

    input: _Input
    bits: Bits
    layers: list[Any]
    name: Name | None = None
    io_type: Literal["io_parallel", "io_stream"] = "io_parallel"
    sparsity: Sparsity = 0.0
    integer: Integer = 0
    seed: Seed = 0


_DOCUMENT = TypeAdapter(_Document)
_LAYERS: dict[str, TypeAdapter[layers.Layer]] = {
    kind: TypeAdapter(described) for kind, described in layers.KINDS.items()
}


class _Loader(yaml.SafeLoader):
    """Build plain values; refuse aliases, whose expansion has no bound, and keys that stand twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(None, None, "aliases are not taken", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001
        seen: set[str] = set()
        for name in (key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{name[:40]}' stands twice", node.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


def read_sketch(path: Path, name: str) -> layers.Sketch:
    """Read a layer list, called `name` unless it says otherwise.

    Raises UserError naming the file, the layer and the key that is wrong.
    """
    origin = str(path)
    content = _mapping(_parsed(path), origin)
    document = _checked(_DOCUMENT, content, origin, [f.name for f in fields(_Document)])
    given = document.input
    try:
        kind = None if given.type is None else parse_type(given.type)
    except UserError as error:
        raise UserError(f"{origin}, input, type: {error}") from None
    if not 1 <= len(document.layers) <= layers.MOST_LAYERS:
        raise UserError(f"{origin}: {len(document.layers)} layers; 1 to {layers.MOST_LAYERS} are taken")
    return layers.Sketch(
        origin=origin,
        name=document.name or name,
        shape=given.shape,
        type=kind,
        input_name=given.name,
        io_type=document.io_type,
        bits=document.bits,
        sparsity=document.sparsity,
        integer=document.integer,
        seed=document.seed,
        layers=tuple(_layer(entry, f"{origin}, layer {k}") for k, entry in enumerate(document.layers, start=1)),
    )


def _parsed(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot read it ({error.strerror})") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"{path}: a layer list has {MOST_BYTES >> 10} KiB at most")
    try:
        return _Loader(data.decode()).get_single_data()
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark
        where = "" if at is None else f" (line {at.line + 1})"
        raise UserError(f"{path}: not a layer list{where}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        raise UserError(f"{path}: not a YAML file; docs/layer_lists.md shows a layer list") from None


def _layer(entry: Any, where: str) -> layers.Layer:
    """Return one layer: `flatten`, or `dense: 10`, or `dense: {units: 10, activation: relu}`."""
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise UserError(
            f"{where}: expected a kind and what it needs, such as 'flatten' or 'dense: {{units: 10}}' "
            "(with its braces, or its keys indented below it)"
        )
    ((kind, content),) = entry.items()
    where = f"{where} ({str(kind)[:40]})"
    if kind not in layers.KINDS:
        if kind == "softmax":
            raise UserError(f"{where}: a final softmax is left out of the hardware, and so of the list")
        raise UserError(f"{where}: there is no such kind; {nearest(str(kind)[:40], layers.KINDS)}")
    names = [f.name for f in fields(layers.KINDS[kind])]
    if content is None:
        content = {}
    elif isinstance(content, int | list) and not isinstance(content, bool) and kind in _SHORT:
        content = {_SHORT[kind]: content}
    return _checked(_LAYERS[kind], _mapping(content, where), where, names)


_SHORT = {"dense": "units", "max_pool": "size", "average_pool": "size"}
"""What a bare number means."""


def _mapping(value: Any, where: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{where}: expected keys with values, found {type(value).__name__}")
    return value


def _checked(adapter: TypeAdapter[_T], content: Any, where: str, names: Iterable[str]) -> _T:
    """Return a validated value; raise UserError for the first key that is unknown, missing or wrong."""
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        # an unknown key explains a missing one, which it may be meant to be
        first = max(error.errors(include_url=False), key=lambda e: e["type"] == "unexpected_keyword_argument")
        keys = [str(part)[:40] for part in first["loc"]]
        key = ", ".join(keys)
        if first["type"] == "unexpected_keyword_argument":
            known = [f.name for f in fields(_Input)] if keys[:-1] == ["input"] else names
            raise UserError(f"{where}: unknown key '{keys[-1]}'; {nearest(keys[-1], known)}") from None
        if first["type"] in {"missing", "missing_argument"}:
            raise UserError(f"{where}: '{key}' is missing") from None
        if first["type"] == "string_pattern_mismatch":
            raise UserError(f"{where}, {key}: {first['input']!r} has control characters; write plain text") from None
        raise UserError(f"{where}, {key}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
