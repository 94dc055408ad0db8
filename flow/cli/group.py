"""The command's root."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

DONE, FAILED, USER_ERROR, MISSED, INTERRUPTED = 0, 1, 2, 3, 130
UNREAD = 141
"""Whoever read standard output has gone (`| head`): as of a program that SIGPIPE ends."""


class Root(click.Group):
    """The group of all commands, for which a reader that leaves early is no failure of anything."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click itself would end with the status of a failed verification."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # what is still in the buffer must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(UNREAD)


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="fpgaflow")
def cli() -> None:
    """From a quantized neural network and a latency budget to verified FPGA hardware.

    MODEL is a zoo name (fpgaflow models), a model file (.keras, .h5, Keras-2 .json), a saved model.json, a
    layer list (.yaml), or a folder with a request.toml; --layers stands in its place. Exit status: 0 done and the
    budget holds; 1 verification failed; 2 user error; 3 budget, rate or contract missed; 130 interrupted; 141 the
    reader of the output left.
    """
