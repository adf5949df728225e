"""The classifier: images in, attributes out. No GStreamer here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...backends import Backend
from ...errors import ParserError
from .attributes import Attribute, ClassifierContext, ClassifierParser, check_attributes, strongest
from .labels import read_attribute_labels
from .network import Network, Pixels
from .parsers import load_parser
from .settings import InferSettings

__all__ = ["Classifier"]


class Classifier:
    """A loaded model with nvinfer's steps before and after it.

    :param settings: checked settings with ``network_type`` 1.
    :param backend: the engine; opened from ``settings.onnx_file`` when omitted.
    :raises ModelError: the model is broken, or its inputs or outputs do not fit.
    :raises ConfigError: settings contradict the model, or a file or the parser cannot be loaded.
    :raises MissingExtraError: onnxruntime or OpenCV is not installed.
    """

    def __init__(self, settings: InferSettings, backend: Backend | None = None) -> None:
        self.settings = settings
        self.labels: list[list[str]] = []
        """Labels of each attribute's classes."""
        if settings.labelfile_path is not None:
            self.labels = read_attribute_labels(settings.labelfile_path)
        self.model = Network(settings, backend)
        self.warnings = [*settings.warnings, *self.model.warnings]
        self.parser_name = settings.parser or "strongest class"
        self._parser: ClassifierParser = strongest
        if settings.parser:
            folder = Path(settings.source).resolve().parent if settings.source else None
            loaded: Any = load_parser(settings.parser, folder)
            self._parser = loaded
        self.context = ClassifierContext(
            settings.classifier_threshold,
            tuple(map(tuple, self.labels)),
            self.model.input.width,
            self.model.input.height,
        )

    def classify(self, images: Sequence[Pixels]) -> list[tuple[Attribute, ...]]:
        """Attributes of each image.

        :raises ParserError: the parser raised or returned what is not attributes.
        :raises ModelError: the engine failed.
        """
        found: list[tuple[Attribute, ...]] = []
        size = self.model.size
        for start in range(0, len(images), size):
            part = images[start : start + size]
            for slot, pixels in enumerate(part):
                self.model.fill(slot, pixels)
            layers = self.model.run(len(part))
            for slot in range(len(part)):
                one = {name: array[slot] for name, array in layers.items()}
                found.append(check_attributes(self.parser_name, self._parse(one), self.labels))
        return found

    def _parse(self, layers: dict[str, Any]) -> object:
        try:
            return self._parser(layers, self.context)
        except ParserError:
            raise
        except Exception as error:
            raise ParserError(
                f"parser {self.parser_name} raised {type(error).__name__}: {error}",
                hint="a parser gets one image's layers by name and a ClassifierContext",
            ) from error

    def close(self) -> None:
        """Give the model back."""
        self.model.close()
