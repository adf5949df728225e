"""What every inference engine offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class TensorSpec:
    """Name, type and shape of a model's input or output."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    """Axes in order; ``None`` where the model leaves the size open (the batch, usually)."""

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype} [{sizes}]"


class Backend(Protocol):
    """A loaded model. One thread at a time calls :meth:`run`."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]: ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]: ...

    def run(self, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """Infer once.

        :param inputs: one C-contiguous array for each input, its dtype as in :attr:`inputs`.
        :returns: one array for each output, by name; valid until the next call at least.
        :raises ModelError: if the engine refuses the arrays or fails.
        """
        ...

    def close(self) -> None:
        """Give the model back; :meth:`run` must not be called any more. Safe to call again."""
        ...
