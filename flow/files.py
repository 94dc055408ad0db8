"""Files that appear whole, and digests of what they hold."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(*parts: bytes | str) -> str:
    """Return the SHA-256 of several parts, each with its length, so that none can run into the next."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def replace_folder(new: Path, final: Path) -> None:
    """Move a finished folder to its place, replacing what lay there."""
    if final.exists():
        shutil.rmtree(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(new, final)


def digest_folder(folder: Path) -> str:
    """Return a digest of all files in a folder: names and contents."""
    parts: list[bytes | str] = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


_DAMAGED = (
    EOFError,
    KeyError,
    NotImplementedError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy and zipfile raise, besides ValueError, for files that are not theirs."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz by name, or the one of a .npy as `x`; never load Python objects.

    Raises ValueError for what is no such file, and OSError.
    """
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return {"x": content}
        with content:
            return {name: content[name] for name in content.files}
    except _DAMAGED as error:
        raise ValueError(str(error)) from None


def write_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays as a compressed .npz, whole; same arrays, same bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, np.ascontiguousarray(array), allow_pickle=False)
            # an explicit entry has the fixed date of 1980
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, member.getvalue())
    write_whole(path, whole.getvalue())
