"""The command's root."""

from __future__ import annotations

import click

DONE, FAILED, USER_ERROR, MISSED, INTERRUPTED = 0, 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="fpgaflow")
def cli() -> None:
    """From a quantized neural network and a latency budget to verified FPGA hardware.

    MODEL is a zoo name (fpgaflow models), a model file (.keras, .h5, Keras-2 .json), a saved model.json, a
    layer list (.yaml), or a folder with a request.toml; --layers stands in its place. Exit status: 0 done and the
    budget holds; 1 verification failed; 2 user error; 3 budget, rate or contract missed.
    """
