"""Arrival times from a file that somebody else wrote.

Text or CSV: one time a line, in the first column; empty lines and lines that begin with # are passed over. The unit
stands in the word `FILE,unit=ns`, or in a first line such as `time_ns` (or `# unit: ns`). `.npy`: one-dimensional
integers or floating-point numbers; the unit stands in the word. Times count from the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path

import numpy as np

from flow.errors import UserError
from flow.latency.arrivals import FORMS, LONGEST_PS, MOST_ARRIVALS, Arrivals, Times

UNITS_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
LARGEST_FILE = 64 << 20  # bytes
_END = re.compile(r"[,;\t]")  # of the first column
_TITLE = re.compile(r"(?:#\s*unit\s*[:=]\s*|[A-Za-z][\w ]*[_ (\[])(ps|ns|us|ms|s)[)\]]?\s*", re.IGNORECASE)


def read_arrivals(text: str) -> Arrivals:
    """Return the arrivals of `FILE` or `FILE,unit=ns`; raise UserError naming the line that is wrong."""
    name, _, word = text.strip().rpartition(",unit=") if ",unit=" in text else (text.strip(), "", "")
    if word and word.lower() not in UNITS_PS:
        raise UserError(f"arrivals '{text[:200]}': unit must be one of {', '.join(UNITS_PS)}")
    path, unit = Path(name), word.lower() or None
    try:
        found, size = path.is_file(), path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError):
        found, size = False, 0
    if not found:
        raise UserError(f"arrivals '{text[:200]}': there is no such file; write for example {FORMS}")
    if size > LARGEST_FILE:
        raise UserError(f"arrivals {path}: {size:,} bytes are more than the {LARGEST_FILE:,} that are read")
    times = _times(path, unit, path.stat().st_mtime_ns, size)
    shown = "".join(c for c in path.name if c.isprintable())[:60]
    return Arrivals("file", times, None, f"{times.size:,} arrivals of {shown}")


@lru_cache(maxsize=1)
def _times(path: Path, unit: str | None, _changed_ns: int, _size: int) -> Times:
    """Return the times of a file, read once: it is looked at before a run, and followed after it."""
    return _from_npy(path, unit) if path.suffix.lower() == ".npy" else _from_text(path, unit)


def _from_text(path: Path, unit: str | None) -> Times:
    try:
        # line by line: all lines at once take thirty times the file
        with path.open(encoding="utf-8-sig") as lines:
            values, unit = _values(path, lines, unit)
    except UnicodeDecodeError:
        raise UserError(f"arrivals {path}: it is neither UTF-8 text nor .npy") from None
    if not values:
        raise UserError(f"arrivals {path}: there is no time in it; write one a line")
    scale = _scale(path, unit)
    if (values[-1] - values[0]) * scale > LONGEST_PS:
        raise _too_long(path)
    return np.array([round((value - values[0]) * scale) for value in values], dtype=np.int64)


def _values(path: Path, lines: Iterable[str], unit: str | None) -> tuple[list[Decimal], str | None]:
    """Return the times as they stand, and the unit: as given, else of the first line."""
    values: list[Decimal] = []
    for number, line in enumerate(lines, start=1):
        word = _END.split(line, maxsplit=1)[0].strip().strip('"')
        title = None if values else _TITLE.fullmatch(word)
        if title is not None:
            unit = unit or title[1].lower()
        if title is not None or not word or word.startswith("#"):
            continue
        value = _number(word)
        if value is None:
            raise UserError(f"arrivals {path}, line {number}: '{word[:40]}' is not a time; write a plain number")
        if values and value < values[-1]:
            raise UserError(f"arrivals {path}, line {number}: {word[:40]} comes before the time above it; sort them")
        values.append(value)
        if len(values) > MOST_ARRIVALS:
            raise UserError(f"arrivals {path}: more than {MOST_ARRIVALS:,} are not followed; cut the file")
    return values, unit


def _number(word: str) -> Decimal | None:
    if not re.fullmatch(r"[-+]?[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?", word) or len(word) > 60:
        return None
    try:
        value = Decimal(word)
    except InvalidOperation:
        return None
    # beyond these a number is no time, and its exact sum with another would fill the memory
    return value if value.is_zero() or -40 < value.adjusted() < 40 else None


def _from_npy(path: Path, unit: str | None) -> Times:
    try:
        # mapped: a header that lies about the size then fails before any memory is taken
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, OverflowError, OSError):
        raise UserError(f"arrivals {path}: it is not a .npy file of numbers") from None
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iuf" or not values.size:
        raise UserError(f"arrivals {path}: a one-dimensional array of integers or floating-point numbers is needed")
    if values.size > MOST_ARRIVALS:
        raise UserError(f"arrivals {path}: more than {MOST_ARRIVALS:,} are not followed; cut the file")
    scale = _scale(path, unit)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):  # of a wider type than this one
            floats = values.astype(np.float64)
        if not np.isfinite(floats).all():
            raise UserError(f"arrivals {path}: it holds numbers that are not finite")
        from_first = floats - floats[0]
        if float(from_first[-1]) * scale > LONGEST_PS:
            raise _too_long(path)
        times = np.rint(from_first * scale)
    else:
        whole = [int(value) for value in values]
        if (whole[-1] - whole[0]) * scale > LONGEST_PS:
            raise _too_long(path)
        times = np.array([(value - whole[0]) * scale for value in whole], dtype=object)
    wrong = np.flatnonzero(times[1:] < times[:-1])
    if wrong.size:
        raise UserError(f"arrivals {path}: element {int(wrong[0]) + 1} comes before the one above it; sort them")
    whole_ps: Times = times.astype(np.int64)
    return whole_ps


def _scale(path: Path, unit: str | None) -> int:
    if unit is None:
        raise UserError(
            f"arrivals {path}: in which unit? write {path.name},unit=ns (one of {', '.join(UNITS_PS)}), or in a text a "
            "first line such as time_ns"
        )
    return UNITS_PS[unit]


def _too_long(path: Path) -> UserError:
    return UserError(f"arrivals {path}: they last longer than {LONGEST_PS / 1e12:,.0f} s; check the unit")
