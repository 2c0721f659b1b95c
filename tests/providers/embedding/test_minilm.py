"""The larger model, tried on one of a few small layers."""

from __future__ import annotations

import json
import struct
from array import array
from operator import mul
from pathlib import Path

import pytest

from counterpoint.kernel.errors import Unavailable
from counterpoint.providers.embedding import minilm
from counterpoint.providers.embedding.opening import open_embedder

WIDE, LAYERS, WORDS = 8, 2, 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a model of two layers whose numbers follow from their places."""
    shapes: dict[str, list[int]] = {
        "embeddings.word_embeddings.weight": [WORDS, WIDE],
        "embeddings.position_embeddings.weight": [300, WIDE],
        "embeddings.token_type_embeddings.weight": [2, WIDE],
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for part, (rows, columns) in {
            **{f"attention.self.{one}": (WIDE, WIDE) for one in ("query", "key", "value")},
            "attention.output.dense": (WIDE, WIDE),
            "intermediate.dense": (2 * WIDE, WIDE),
            "output.dense": (WIDE, 2 * WIDE),
        }.items():
            shapes |= {f"{layer}.{part}.weight": [rows, columns], f"{layer}.{part}.bias": [rows]}
    for one in norms:
        shapes |= {f"{one}.weight": [WIDE], f"{one}.bias": [WIDE]}
    header: dict[str, object] = {"__metadata__": {}}
    kept = b""
    for name, shape in shapes.items():
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        numbers = [((place * 37 + len(name) * 11) % 101 - 50) / 60 for place in range(size)]
        made = struct.pack(f"<{size}f", *numbers)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(kept), len(kept) + len(made)],
        }
        kept += made
    told = json.dumps(header).encode()
    told += b" " * (-len(told) % 8)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(told)) + told + kept)
    (tmp_path / "config.json").write_text(
        json.dumps({"num_attention_heads": 2, "num_hidden_layers": LAYERS})
    )
    (tmp_path / "vocab.txt").write_text("\n".join(f"w{number}" for number in range(WORDS)))
    return tmp_path


def test_a_text_becomes_a_vector_of_length_one(folder: Path) -> None:
    """In which the order of words counts; without a known word there is none."""
    model = minilm.MiniLMEmbedder(folder)
    here, there, nothing = model.embed(["w1 w2 w3", "w3 w2 w1", "none"])
    numbers = array("f", here)
    assert (len(numbers), model.dimensions) == (WIDE, WIDE)
    assert sum(map(mul, numbers, numbers)) == pytest.approx(1, abs=1e-5)
    assert here != there
    assert nothing == b""
    assert model.embed(["w1 w2 w3"]) == [here]
    assert (model.name, model.weight, model.least) == ("all-minilm-l6-v2", 0.5, 0.3)


def test_the_error_function_is_near_enough() -> None:
    """As a table has it."""
    import numpy as np

    found = minilm._gelu(np.array([-3.0, -1.0, 0.0, 1.0, 3.0], np.float32))
    assert found.tolist() == pytest.approx([-0.00405, -0.158655, 0.0, 0.841345, 2.99595], abs=1e-5)


def test_what_is_no_file_of_weights_is_refused(tmp_path: Path) -> None:
    """Before anything of it is believed."""
    (tmp_path / "x").write_bytes(b"\xff" * 64)
    with pytest.raises(Unavailable, match="no file of safetensors"):
        minilm.tensors(tmp_path / "x")


def test_without_the_weights_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to set instead."""
    monkeypatch.setattr(minilm, "PACKAGE", "counterpoint_no_such_package")
    with pytest.raises(Unavailable, match="not installed") as refused:
        open_embedder("minilm")
    assert "--no-deps" in refused.value.hint


def test_weights_are_read_where_their_package_lies(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the package is run."""
    package = tmp_path / "lib" / "weights_of_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError\n")
    folder.joinpath("config.json")
    for name in ("model.safetensors", "config.json", "vocab.txt"):
        (package / "model").mkdir(exist_ok=True)
        (package / "model" / name).write_bytes((folder / name).read_bytes())
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(minilm, "PACKAGE", "weights_of_a_test")
    assert minilm.MiniLMEmbedder(minilm.installed()).dimensions == WIDE
