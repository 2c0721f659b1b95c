"""The model inside the product: a row for a token, their mean for a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from counterpoint.providers.embedding.wordpiece import WordPiece

FOLDER: Final = Path(__file__).parent / "static_256"
_TOKENS: Final = 512


class StaticEmbedder:
    """A model whose rows are read from the disk as they are asked for."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Open the model of a folder: `weights.npy`, `scales.npy`, `vocab.txt`."""
        self._words = WordPiece(folder / "vocab.txt")
        self._weights = np.load(folder / "weights.npy", mmap_mode="r", allow_pickle=False)
        self._scales = np.load(folder / "scales.npy", allow_pickle=False)

    @property
    def name(self) -> str:
        """Which model it is."""
        return "static-256.1"

    @property
    def weight(self) -> float:
        """How much nearness counts beside words (docs/benchmarks.md)."""
        return 0.3

    @property
    def least(self) -> float:
        """The cosine below which a text is not found by nearness alone."""
        return 0.3

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text; empty for one without a token."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        ids = self._words.ids(text, _TOKENS)
        if not ids:
            return b""
        # Not by BLAS: its threads would turn, for so little, beside those that answer calls.
        total = np.einsum("i,ij->j", self._scales[ids], self._weights[ids].astype(np.float32))
        length = float(np.sqrt(np.einsum("i,i->", total, total)))
        return (total / length).astype("<f4").tobytes() if length else b""
