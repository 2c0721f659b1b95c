"""Vectors of providers, in each format, from a server on this machine that speaks it as it is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot
from struct import unpack
from typing import Any

import pytest

from counterpoint.core.model.models import EmbeddingKind, Modelling, SaidEmbedding, SaidProvider
from counterpoint.kernel.errors import (
    ProviderAway,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
)
from counterpoint.providers.embedding.asking import EmbeddingProviders, open_embeddings
from fakes.embedding_server import SIZE, EmbeddingServer

TEXTS = ["passwords and cake", "a boat"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """Give the server."""
    with EmbeddingServer() as found:
        yield found


def opened(
    server: EmbeddingServer, environ: Mapping[str, str] | None = None, **more: Any
) -> tuple[EmbeddingProviders, SaidEmbedding]:
    """Answer who is asked at the server, and what is said of it."""
    said = SaidEmbedding(provider="near", model="vec-1", **more)
    provider = SaidProvider(name="near", kind="chat", address=server.address)
    told = Modelling(providers=(provider,), embedding=said)
    return open_embeddings(lambda: told, {"HOME": "/nowhere"} | dict(environ or {})), said


def made(server: EmbeddingServer, **more: Any) -> Any:
    """Answer what the server makes of the texts."""
    asking, said = opened(server, **more)
    return asking.embed(asking.provider(said), said, TEXTS, 5, lambda _: None)


@pytest.mark.parametrize(
    ("kind", "path", "sized"),
    [
        ("embeddings", "/embeddings", "dimensions"),
        ("gemini", "/models/vec-1:batchEmbedContents", "outputDimensionality"),
        ("ollama", "/api/embed", "dimensions"),
    ],
)
def test_each_format_makes_a_vector_of_each_text(
    server: EmbeddingServer, kind: EmbeddingKind, path: str, sized: str
) -> None:
    """In the order of the texts, of length 1; a number of dimensions is asked for where one is wanted."""
    found = made(server, kind=kind)
    first, second = (unpack(f"<{SIZE}f", one) for one in found.vectors)
    assert hypot(*first) == pytest.approx(1)
    assert first[0] == first[1] > 0
    assert (second[0], second[2] > 0.9) == (0, True)
    assert found.tokens == (0 if kind == "gemini" else 7)
    assert server.asked[0][0] == path
    assert sized not in str(server.asked[0][1])
    made(server, kind=kind, dimensions=8)
    body = server.asked[1][1]
    assert (body["requests"][0] if kind == "gemini" else body)[sized] == 8


@pytest.mark.parametrize(
    ("kind", "head", "carries"),
    [
        ("embeddings", "authorization", "Bearer k-1"),
        ("gemini", "x-goog-api-key", "k-1"),
        ("ollama", "authorization", "Bearer k-1"),
    ],
)
def test_the_key_goes_along_as_the_format_has_it(
    server: EmbeddingServer, kind: EmbeddingKind, head: str, carries: str
) -> None:
    """And nowhere else."""
    made(server, kind=kind, environ={"COUNTERPOINT_NEAR_API_KEY": "k-1"})
    assert server.heads[0][head] == carries
    assert "k-1" not in str(server.asked)


def _row(embedding: Any, place: int = 0) -> dict[str, Any]:
    return {"index": place, "embedding": embedding}


@pytest.mark.parametrize(
    "data",
    [
        [_row([1.0])],
        [_row([1.0]), _row([1.0, 2.0], 1)],
        [_row([0.0]), _row([1.0], 1)],
        [_row(["a"]), _row([1.0], 1)],
        [_row([None]), _row([1.0], 1)],
        [_row([]), _row([], 1)],
        [_row([1.0] * 5_000), _row([1.0] * 5_000, 1)],
        [{"index": 0}, _row([1.0], 1)],
        "nothing",
        None,
    ],
)
def test_what_is_no_vector_of_each_text_is_no_answer(server: EmbeddingServer, data: Any) -> None:
    """Too few, of other lengths, without a direction, too long, or no numbers."""
    server.script = [(200, {"data": data})]
    with pytest.raises(ProviderFailed):
        made(server)


def test_vectors_of_another_size_than_was_asked_for_are_none(server: EmbeddingServer) -> None:
    """They would be compared with those of the right size."""
    assert len(made(server, dimensions=SIZE).vectors) == len(TEXTS)
    with pytest.raises(ProviderFailed, match="a vector has 8 numbers in place of 4"):
        made(server, dimensions=4)


@pytest.mark.parametrize(
    ("status", "raised"), [(429, ProviderBusy), (500, ProviderBusy), (401, ProviderRefused)]
)
def test_a_refusal_is_what_it_is_for_models(
    server: EmbeddingServer, status: int, raised: type[Exception]
) -> None:
    """Busy, or refused, in the provider's words without the key."""
    server.script = [(status, {"error": {"message": "not with k-1"}})]
    with pytest.raises(raised, match=r"not with \*\*\*"):
        made(server, environ={"COUNTERPOINT_NEAR_API_KEY": "k-1"})


def test_a_key_is_sent_to_the_address_that_it_was_given_for(
    server: EmbeddingServer, tmp_path: Any
) -> None:
    """As with models: another address gets none."""
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    asking, said = opened(server, environ)
    asking.keys.put("near", "k-1", "https://elsewhere.example")
    provider = asking.provider(said)
    assert "was given for https://elsewhere.example" in provider.reason
    with pytest.raises(ProviderAway):
        asking.embed(provider, said, TEXTS, 5, lambda _: None)
    assert server.asked == []


def test_a_provider_of_this_machine_costs_nothing(server: EmbeddingServer) -> None:
    """It needs no model that answers, and no key."""
    asking, said = opened(server)
    provider = asking.provider(said)
    assert (provider.is_available, provider.is_free, provider.model) == (True, True, "vec-1")
    assert asking.said() == said


def test_the_format_goes_with_the_provider() -> None:
    """OpenAI's for what answers by its formats, Google's for Gemini; a program and Anthropic make none."""
    environ = {"OPENAI_API_KEY": "a", "GEMINI_API_KEY": "b", "ANTHROPIC_API_KEY": "c"}
    asking = open_embeddings(Modelling, environ | {"HOME": "/nowhere"})
    for name, reason in (("openai", ""), ("google", ""), ("anthropic", "it makes no vectors")):
        said = SaidEmbedding(provider=name, model="m")
        assert asking.provider(said).reason == reason
    provider = asking.provider(said)
    with pytest.raises(ProviderFailed, match="makes no vectors"):
        asking.embed(provider, said, TEXTS, 5, lambda _: None)
