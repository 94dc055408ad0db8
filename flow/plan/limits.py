"""Limits on resources as users write them: a count, or a share of what the part has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flow.errors import UserError, nearest
from flow.plan.footprint import KINDS

EXAMPLE = 'limits = { lut = "30%", dsp = 0 }'


def limit_of(kind: str, limit: Any) -> int | Fraction:
    """Return a count or a share; raise UserError for anything else."""
    share = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%\s*", limit) if isinstance(limit, str) else None
    if share is not None and Fraction(share[1]) <= 100:
        return Fraction(share[1]) / 100
    if isinstance(limit, str) and re.fullmatch(r"\s*[0-9]{1,12}\s*", limit):
        return int(limit)
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return limit
    raise UserError(
        f"limits.{kind} = {limit!r} is neither a count nor a share of the part up to 100%; write for example {EXAMPLE}"
    )


def limits_of(limits: Mapping[str, Any]) -> dict[str, int | Fraction]:
    """Return all limits by resource; raise UserError for an unknown one."""
    for kind in limits:
        if kind not in KINDS:
            raise UserError(f"limits.{kind}: there is no such resource; {nearest(kind, KINDS)}")
    return {kind: limit_of(kind, limit) for kind, limit in limits.items()}


def written(texts: tuple[str, ...]) -> dict[str, int | str]:
    """Return limits as a request has them from `lut=30%`, `dsp=0`; raise UserError where one is neither."""
    found: dict[str, int | str] = {}
    for text in texts:
        kind, equals, limit = text.partition("=")
        if not equals:
            raise UserError(f"limit '{text}' has no '='; write for example --limit lut=30% --limit dsp=0")
        kind = kind.strip().lower()
        if kind in found:
            raise UserError(f"limit '{text}': {kind} has a limit already, {kind}={found[kind]}; leave one of them out")
        found[kind] = limit.strip()
    limits_of(found)
    return found
