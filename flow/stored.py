"""Files that a run leaves for its later steps: read back with every field checked."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from flow.errors import UserError

_T = TypeVar("_T")


def parse_stored(adapter: TypeAdapter[_T], data: bytes, origin: str, what: str) -> _T:
    """Read JSON; raise UserError, naming `origin` and the first wrong field, when it is not `what`."""
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{origin} is not {what}: {where + ': ' if where else ''}{first['msg']}") from None
    except UserError as error:  # a value's own check, such as a type's width
        raise UserError(f"{origin} is not {what}: {error}") from None


def load_stored(adapter: TypeAdapter[_T], path: Path, what: str, cure: str) -> _T:
    """Read a JSON file; raise UserError with the `cure` when it is not there or not `what`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}); {cure}") from None
    try:
        return parse_stored(adapter, data, str(path), what)
    except UserError as error:
        raise UserError(f"{error}; {cure}") from None


def check_format(found: int, known: int, path: Path, cure: str) -> None:
    """Raise UserError for a file that another version wrote."""
    if found != known:
        raise UserError(f"{path} has format {found}, this version reads {known}; {cure}")
