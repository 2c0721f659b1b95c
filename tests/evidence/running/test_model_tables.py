"""What counterpoint.toml says of vectors: read, or refused with all that is wrong."""

from __future__ import annotations

import pytest

from counterpoint.core.model.models import Modelling, SaidEmbedding
from counterpoint.core.rules.trust.commands import loosened, models_loosened
from counterpoint.evidence.running.configuration import load_checking
from counterpoint.kernel.errors import MalformedDocument

WHOLE = """
[models.embedding]
provider = "openai"
model = "text-embedding-3-small"
kind = "embeddings"
dimensions = 512
weight = 0.6
least = 0
"""


def test_all_of_the_table_is_read() -> None:
    assert load_checking(WHOLE).models.embedding == SaidEmbedding(
        provider="openai",
        model="text-embedding-3-small",
        kind="embeddings",
        dimensions=512,
        weight=0.6,
        least=0,
    )
    short = load_checking("[models.embedding]\nprovider = 'google'\nmodel = 'm'\n")
    assert short.models.embedding == SaidEmbedding(provider="google", model="m")
    assert load_checking("[models]\n").models.embedding is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = 'm'", "`provider` is missing below [models.embedding]"),
        ("provider = 'openai'", "`model` is missing below [models.embedding]"),
        ("kind = 'chat'", "one of embeddings, gemini, ollama"),
        ("dimensions = 4", "a whole number from 8 to 4096"),
        ("weight = 2", "a number from 0 to 1"),
        ("least = true", "a number from 0 to 1"),
        ("size = 1", "`size` is not known below [models.embedding]"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(text: str, words: str) -> None:
    with pytest.raises(MalformedDocument) as caught:
        load_checking(f"[models.embedding]\n{text}\n")
    assert words in caught.value.message
    with pytest.raises(MalformedDocument, match="a table"):
        load_checking("[models]\nembedding = 1\n")


def test_to_send_texts_elsewhere_takes_trust() -> None:
    assert models_loosened(Modelling()) is None
    said = load_checking(WHOLE)
    assert models_loosened(said.models) is not None
    other = load_checking(WHOLE.replace("openai", "google"))
    assert loosened(said, "") != loosened(other, "")
    before = Modelling(day_limit=20_000_000)
    assert models_loosened(before) == {"providers": [], "prices": [], "limits": [20_000_000, 0]}
