"""Precision overrides of a layer list's layers: the types that hls4ml's users know by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flow.errors import UserError, nearest
from flow.fixed import FixedType, parse_type

Precision = Mapping[str, str | Mapping[str, str]]
"""Layer -> a type for all its variables, or variable -> type; `auto` is what would be without."""
WIDEST = 64


@dataclass(frozen=True, slots=True)
class Types:
    """Hold what is said of one layer: a type for every variable, and single ones, which outrank it."""

    whole: FixedType | None = None
    single: Mapping[str, FixedType | None] = field(default_factory=dict)

    def of(self, variable: str, inferred: FixedType) -> FixedType:
        """Return a variable's type; tables keep theirs unless they are named."""
        whole = None if variable == "table" else self.whole
        return self.single.get(variable, whole) or inferred


class Overrides:
    """Answer what is said of each layer, and refuse what nobody asked for."""

    def __init__(self, precision: Precision) -> None:
        self._given = precision
        self._known: set[str] = set()

    def of(self, name: str, variables: Iterable[str]) -> Types:
        """Return what is said of a layer; raise UserError for a variable that it does not have."""
        self._known.add(name)
        given = self._given.get(name, {})
        where = f"[precision], {name}"
        if isinstance(given, str):
            return Types(_type(given, where))
        for variable in given:
            if variable not in (*variables, "default"):
                raise UserError(f"{where}: there is no '{variable}' here; {nearest(variable, variables)}")
        types = {variable: _type(text, f"{where}, {variable}") for variable, text in given.items()}
        return Types(types.pop("default", None), types)

    def check(self) -> None:
        """Raise UserError for layers that the list does not have, after all have been asked for."""
        for name in self._given:
            if name not in self._known:
                raise UserError(f"[precision], {name}: the model has no such layer; {nearest(name, self._known)}")


def _type(text: str, where: str) -> FixedType | None:
    if text == "auto":
        return None
    try:
        kind = parse_type(text)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    if "int" in text:
        # an ap_int drops fractions otherwise than an ap_fixed, and hls4ml gives some of them meanings of their own
        sign = "" if kind.signed else "u"
        raise UserError(f"{where}: {text} is not taken for a layer list; write {sign}fixed<{kind.width},{kind.width}>")
    if kind.width > WIDEST:
        raise UserError(f"{where}: {text} has more than {WIDEST} bits")
    return kind
