"""What a loaded model offers, whatever framework wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Knobs:
    """Hold how one layer is to be built in an hls4ml project: its reuse factor and strategy."""

    reuse_factor: int
    strategy: str


class Source(Protocol):
    """Offer a model's conversion by hls4ml and its float outputs.

    name: the model's name. labels: layer names in topological order, as the user wrote them. input_shapes: by
    input layer, in declared order, without the batch axis. label_of: the name that hls4ml sees -> label, for the
    layers that have a node of their own. notes: what the user should know about the conversion; more may be there
    after `convert`. asked: the knobs that the user's configuration asks for, by label, where it asks for any (see
    `UserConfig.knobs`). softmax: the label of the final softmax that the conversion leaves out, or None. io_type:
    "io_parallel" or "io_stream", as the user's configuration says.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 — attributes, described above

    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]: ...  # noqa: D102

    @property
    def label_of(self) -> dict[str, str]: ...  # noqa: D102

    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def asked(self) -> dict[str, Knobs]: ...  # noqa: D102

    @property
    def softmax(self) -> str | None: ...  # noqa: D102

    @property
    def io_type(self) -> str: ...  # noqa: D102

    def convert(
        self, folder: Path, *, generous: bool = False, knobs: Mapping[str, Knobs] | None = None
    ) -> Any:  # an hls4ml ModelGraph; hls4ml ships no types
        """Return hls4ml's ModelGraph after its complete `vitis:ip` flow; nothing is written to `folder` yet.

        Without `knobs` this is the reference conversion (Latency, reuse factor 1 everywhere). generous: every width
        that the model's own quantizers do not set is wide, so that hls4ml's C simulation differs from `predict` by
        float error (and by activation tables) only. knobs: by label; layers that it does not name keep the
        reference's. Raises UserError where hls4ml cannot convert the model.
        """
        ...

    def predict(self, inputs: tuple[NDArray[np.float64], ...]) -> dict[str, NDArray[np.float64]]:
        """Return the float output of every layer by label, for inputs of shape (batch, *input shape).

        The inputs are in declared order. A final softmax that the conversion leaves out is left out here too.
        """
        ...
