"""The formats of vectors that providers speak.

kind         request                                                answer
embeddings   POST /embeddings {model, input, dimensions?}           data[].{index, embedding}, usage.prompt_tokens
gemini       POST /models/MODEL:batchEmbedContents {requests}       embeddings[].values
ollama       POST /api/embed {model, input, dimensions?}            embeddings[], prompt_eval_count

Rule: there is one vector for each text, in the order of the texts, all of one length; anything else is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import quote

import numpy as np

from counterpoint.core.model.models import EmbeddingKind, SaidEmbedding
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import count, rows, table

_LONGEST: Final = 4_096
"""The most numbers of a vector that is kept."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format; pure, so that it can be read beside its description. told: vectors and tokens of an answer; ValueError, TypeError, KeyError."""

    path: Callable[[SaidEmbedding], str]
    headers: Callable[[str], dict[str, str]]
    body: Callable[[SaidEmbedding, Sequence[str]], dict[str, Json]]
    told: Callable[[Mapping[str, Any]], tuple[list[Any], int]]


def unit(vectors: Sequence[Any], many: int, dimensions: int = 0) -> tuple[bytes, ...]:
    """Return vectors as they are kept, each of length 1; ValueError if they are not what was asked for. dimensions: how many numbers each has to have; 0: any."""
    if len(vectors) != many:
        raise ValueError("there is not one vector for each text")
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or not 0 < matrix.shape[1] <= _LONGEST or not np.isfinite(matrix).all():  # noqa: PLR2004 -- rows and columns
        raise ValueError("a vector is not made of numbers")
    if dimensions not in {0, matrix.shape[1]}:
        raise ValueError(f"a vector has {matrix.shape[1]} numbers in place of {dimensions}")
    lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    if not lengths.all():
        raise ValueError("a vector has no direction")
    return tuple(row.astype("<f4").tobytes() for row in matrix / lengths)


def _bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"} if secret else {}


def _plain(setting: SaidEmbedding, texts: Sequence[str]) -> dict[str, Json]:
    sized: dict[str, Json] = {"dimensions": setting.dimensions} if setting.dimensions else {}
    return {"model": setting.model, "input": [*texts], **sized}


def _openai(setting: SaidEmbedding, texts: Sequence[str]) -> dict[str, Json]:
    return {**_plain(setting, texts), "encoding_format": "float"}


def _openai_told(answer: Mapping[str, Any]) -> tuple[list[Any], int]:
    # They need not come in the order of the texts.
    every = sorted(rows(answer["data"]), key=lambda row: count(row["index"]))
    return [row["embedding"] for row in every], count(
        table(answer.get("usage")).get("prompt_tokens")
    )


def _gemini(setting: SaidEmbedding, texts: Sequence[str]) -> dict[str, Json]:
    sized: dict[str, Json] = (
        {"outputDimensionality": setting.dimensions} if setting.dimensions else {}
    )
    requests: list[Json] = [
        {"model": f"models/{setting.model}", "content": {"parts": [{"text": text}]}, **sized}
        for text in texts
    ]
    return {"requests": requests}


FORMATS: Final[Mapping[EmbeddingKind, Format]] = {
    "embeddings": Format(lambda _: "/embeddings", _bearer, _openai, _openai_told),
    "gemini": Format(
        lambda setting: f"/models/{quote(setting.model, safe='')}:batchEmbedContents",
        lambda secret: {"x-goog-api-key": secret} if secret else {},
        _gemini,
        lambda answer: ([row["values"] for row in rows(answer["embeddings"])], 0),
    ),
    "ollama": Format(
        lambda _: "/api/embed",
        _bearer,
        _plain,
        lambda answer: (
            cast("list[Any]", answer["embeddings"]),
            count(answer.get("prompt_eval_count")),
        ),
    ),
}
