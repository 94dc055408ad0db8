"""Keep the chatter of TensorFlow and hls4ml away from the user's terminal."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def silence() -> Iterator[list[str]]:
    """Capture what Python code prints and warns; the list holds it, line by line, after the block."""
    heard: list[str] = []
    out = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            yield heard
        finally:
            heard.extend(line.strip() for line in out.getvalue().splitlines() if line.strip())
            heard.extend(str(warning.message) for warning in warned if warning.category is UserWarning)


def hush_tensorflow() -> None:
    """Ask TensorFlow, before its first import, for no log lines and no GPU."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    logging.getLogger("tensorflow").setLevel(logging.ERROR)


@contextlib.contextmanager
def silence_libraries() -> Iterator[None]:
    """Discard what compiled code writes to standard error (TensorFlow logs there before anyone can stop it)."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
