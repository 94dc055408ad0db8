"""What each field of a request takes, and how one that is something else is refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from flow.errors import UserError, nearest

Count = Annotated[int, Field(strict=True)]
"""A whole number as TOML writes it: neither a truth value, nor 4.0, nor "4"."""

FIELDS = {
    "model": ("path", 'model = "jets.keras"'),
    "vectors": ("path", 'vectors = "test.npz"'),
    "budget": ("time", 'budget = "5us"'),
    "rate": ("frequency", 'rate = "40MHz"'),
    "part": ("name", 'part = "LFE5U-25F"'),
    "clock": ("clock", 'clock = "6xBC"'),
    "link": ("name", 'link = "ethernet10g"'),
    "boundary": ("name", 'boundary = "core"'),
    "must_beat": ("names", 'must_beat = ["resident kernel"]'),
    "measured": ("paths", 'measured = ["gpu.json"]'),
    "spare": ("names", 'spare = ["dsp", "bram"]'),
    "parts": ("names", 'parts = ["xcvu13p", "xc7a100t"]'),
    "hls": ("table", 'hls = { IOType = "io_stream" }'),
    "precision": ("table", 'precision = { dense_1 = "fixed<6,1>" }'),
    "payload_in": ("bytes", 'payload_in = "256B"'),
    "payload_out": ("bytes", 'payload_out = "64B"'),
    "arrivals": ("text", 'arrivals = "poisson:1MHz"'),
    "buffer": ("count", "buffer = 4"),
    "overrun": ("name", 'overrun = "drop_new"'),
    "output_buffer": ("count", "output_buffer = 2"),
    "latency_exact": ("count", "latency_exact = 12"),
    "freeze": ("path", 'freeze = "v1/timeline.json"'),
    "bunch_crossings": ("yes or no", "bunch_crossings = true"),
    "pins": ("table", 'pins = { dense_1 = { engine = "unrolled" } }'),
    "objective": ("name", 'objective = "latency"'),
    "limits": ("table", 'limits = { lut = "30%", dsp = 0 }'),
}
"""Type and example of every field, as docs/requests.md has them."""
OF_A_PIN = {
    "engine": ("name", 'engine = "folded"'),
    "reuse_factor": ("count", "reuse_factor = 8"),
    "order": ("name", 'order = "output_serial"'),
    "p": ("count", "p = 4"),
    "q": ("count", "q = 2"),
    "store": ("name", 'store = "bram"'),
    "multiplier": ("name", 'multiplier = "dsp"'),
    "depth": ("count", "depth = 3"),
    "products": ("name", 'products = "dsp"'),
    "tables": ("name", 'tables = "bram"'),
}
"""The same of every field of a pin."""
_WORDS = {
    "path": "a path",
    "paths": "a list of paths",
    "name": "a name",
    "names": "a list of names",
    "time": "a time with its unit, as text",
    "frequency": "a frequency with its unit, as text",
    "clock": "a clock with its unit, as text",
    "bytes": "a number of bytes with its unit, as text",
    "text": "a text",
    "table": "a table",
    "count": "a whole number",
    "yes or no": "true or false",
}
_INSIDE = {
    "precision": "a type, or a table of types by variable",
    "limits": "a whole number or a share",
    "pins": "a table",
}
"""What the entries of a table are."""
MOST_NESTED = 50
"""Tables and lists inside each other; hls4ml's configuration has some five."""
LARGEST = 2**63
"""TOML's whole numbers have 64 bits."""
_TOO_LARGE = "a whole number of more than 64 bits; write a smaller one"
_SHOWN = 40


def parse_toml(text: str) -> dict[str, Any]:
    """Return the contents of a TOML text; raise UserError where it is none, or holds what no field can be."""
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise UserError(_too_deep("it")) from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"it is not TOML: {error}") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise UserError(f"it holds {_TOO_LARGE}") from None
    for keys, value in _entries(content):
        if len(keys) > MOST_NESTED:
            raise UserError(_too_deep(f"what begins with '{keys[0][:_SHOWN]}'"))
        if "\0" in keys[-1] or (isinstance(value, str) and "\0" in value):
            where = ".".join(keys).replace("\0", "\\0")
            raise UserError(f"{where} holds a NUL, which is in no path, name or text; leave it out")
        if isinstance(value, int) and not -LARGEST <= value < LARGEST:
            raise UserError(f"{'.'.join(keys)} is {_TOO_LARGE}")
    return content


def refuse(error: ValidationError, content: Mapping[str, Any]) -> UserError:
    """Return what to say of a request that is not one: its first wrong field, and what would be accepted there."""
    found = error.errors(include_url=False)
    first = found[0]
    if first["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        key, known = str(first["loc"][-1]), OF_A_PIN if first["loc"][0] == "pins" else FIELDS
        return UserError(f"unknown key '{'.'.join(map(str, first['loc']))}'; {nearest(key, known)}")
    # of a value that may be this or that, the one that it comes nearest to
    keys, value, nearest_to = max(
        ((*_at(content, one), one) for one in found if one["loc"][0] == first["loc"][0]),
        key=lambda entry: len(entry[0]),
    )
    if nearest_to["type"] == "value_error":
        return UserError(f"{'.'.join(keys)}: {nearest_to['msg'].removeprefix('Value error, ')}")
    wanted, example = _wanted(keys, nearest_to)
    return UserError(f"{'.'.join(keys)} is {_shown(value)}; write {wanted}, for example {example}")


def _entries(content: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give every entry with its keys, those of tables and lists that are too deep not followed further."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((name,), value) for name, value in reversed(content.items())]
    while waiting:
        keys, value = waiting.pop()
        yield keys, value
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting += [((*keys, str(name)), entry) for name, entry in reversed(tuple(inner))]


def _too_deep(what: str) -> str:
    return f"{what} has tables or lists nested more than {MOST_NESTED} deep; no field of a request is"


def _at(content: Any, one: ErrorDetails) -> tuple[list[str], Any]:
    """Follow an error's place through the file; steps that are not there name the types that were tried."""
    keys: list[str] = []
    for step in one["loc"]:
        if step in content if isinstance(content, dict) else isinstance(content, list) and isinstance(step, int):
            keys.append(str(step))
            content = content[step]
    return keys, content


def _wanted(keys: list[str], one: ErrorDetails) -> tuple[str, str]:
    """Return what is accepted at a place, in words and as an example."""
    name = keys[0]
    kind, example = FIELDS[name]
    words = _WORDS[kind]
    if name == "pins" and len(keys) > 2:
        kind, example = OF_A_PIN[keys[2]]
        words = _WORDS[kind]
    elif name in _INSIDE and len(keys) > 1:
        words = _INSIDE[name]
    if one["type"] == "literal_error":
        words = one["ctx"]["expected"]
    return words, example


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, bool | str):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return str(value)
