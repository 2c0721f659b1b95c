"""The model inside the product: a row for a token, their mean for a text."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from counterpoint.providers.embedding.wordpiece import WordPiece

FOLDER: Final = Path(__file__).parent / "static_256"
_TOKENS: Final = 512


class StaticEmbedder:
    """A model whose rows are read from the disk as they are asked for; who asks for its name alone waits for none of it."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Use the model of a folder: `weights.npy`, `scales.npy`, `vocab.txt`."""
        self._folder = folder

    @cached_property
    def _words(self) -> WordPiece:
        from counterpoint.providers.embedding.wordpiece import WordPiece

        return WordPiece(self._folder / "vocab.txt")

    @cached_property
    def _weights(self) -> NDArray[Any]:
        import numpy as np

        return np.load(self._folder / "weights.npy", mmap_mode="r", allow_pickle=False)

    @cached_property
    def _scales(self) -> NDArray[np.float32]:
        import numpy as np

        return np.load(self._folder / "scales.npy", allow_pickle=False)

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
        vectors = [self._vector(text) for text in texts]
        if any(vectors):
            self._give_back()
        return vectors

    def _give_back(self) -> None:
        """Let go of the rows that were read: the system keeps them at hand for all processes, and they count as memory of none."""
        if hasattr(mmap, "MADV_DONTNEED") and isinstance(pages := self._weights.base, mmap.mmap):
            pages.madvise(mmap.MADV_DONTNEED)

    def _vector(self, text: str) -> bytes:
        ids = self._words.ids(text, _TOKENS)
        if not ids:
            return b""
        import numpy as np

        # Not by BLAS: its threads would turn, for so little, beside those that answer calls.
        total = np.einsum("i,ij->j", self._scales[ids], self._weights[ids].astype(np.float32))
        length = float(np.sqrt(np.einsum("i,i->", total, total)))
        return (total / length).astype("<f4").tobytes() if length else b""
