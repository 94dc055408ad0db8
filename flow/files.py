"""Files that appear whole, and digests of what they hold."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path


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
