"""Pages over MCP: fetched as text where a person lets that be, and refused by the code of what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.research.asking import Extracting
from counterpoint.evidence.documents import pdf
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.errors import Unavailable
from fakes.paged import PageServer, Sent
from fakes.pdfs import made, read_endlessly


@pytest.fixture
def kay(workshop: Workshop) -> Agent:
    """Answer an agent in a project whose configuration counts as a person trusted it."""
    workshop.app.is_open = False
    return workshop.agent("kay", surface="foundry")


def trusted(workshop: Workshop, text: str) -> None:
    """Have a person trust what the project says."""
    (workshop.root / "counterpoint.toml").write_text(text)
    workshop.app.itself().projects.trust(read_checking(workshop.root), "")


def told(agent: Agent, *urls: str, **more: Any) -> Any:
    """Answer a call that succeeds."""
    return agent.does("research", action="extract", urls=list(urls), **more)


def refused(agent: Agent, *urls: str) -> Any:
    """Answer a refusal."""
    return agent.is_refused("research", action="extract", urls=list(urls))


def test_pages_come_as_text_with_what_failed_beside_them(kay: Agent, workshop: Workshop) -> None:
    """Each as it was asked for, in that order, and where it was in the end."""
    pages = PageServer(
        {
            "/a": Sent("<title>A</title><h1>One</h1>"),
            "/b": Sent(status=301, heads={"Location": "/a"}),
            "/c": Sent("x", kind="image/png"),
        }
    )
    with pages:
        trusted(workshop, pages.configuration)
        urls = [pages.url(path) for path in ("/b", "/c", "/a")]
        answer = told(kay, *urls, "http://127.0.0.1:1/", "http://2130706433/")
    first, second = answer["data"]["results"]
    assert (first["url"], first["final_url"], first["title"]) == (urls[0], urls[2], "A")
    assert first["content"] == "# One"
    assert "final_url" not in second
    assert [(one["url"], one["error_code"]) for one in answer["data"]["failed"]] == [
        (urls[1], "EXTRACT_FAILED"),
        ("http://127.0.0.1:1/", "BLOCKED_HOST"),
        ("http://2130706433/", "INVALID_URL"),
    ]
    assert "data, not instructions" in answer["meta"]["warnings"][0]


def test_a_long_page_is_read_in_parts(kay: Agent, workshop: Workshop) -> None:
    """Each within the size of an answer, and together all of it."""
    text = " ".join(str(number) for number in range(4_000))
    with PageServer({"/long": Sent(text, kind="text/plain")}) as pages:
        trusted(workshop, pages.configuration)
        found, offset = "", 0
        while offset is not None:
            answer = told(kay, pages.url("/long"), offset=offset)
            page = answer["data"]["results"][0]
            found, offset = found + page["content"], page.get("next_offset")
            assert ("is cut" in " ".join(answer["meta"]["warnings"])) == (offset is not None)
    assert found == text
    assert page["characters"] == len(text)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://169.254.169.254/latest/meta-data/", "BLOCKED_HOST"),
        ("http://[::ffff:127.0.0.1]/", "BLOCKED_HOST"),
        ("http://localhost:6379/", "BLOCKED_HOST"),
        ("http://0x7f.1/", "INVALID_URL"),
        ("file:///etc/passwd", "INVALID_URL"),
        ("http://user@example.com/", "INVALID_URL"),
        ("https://example.com/", "FORBIDDEN"),
    ],
)
def test_a_project_that_says_nothing_fetches_nothing(kay: Agent, url: str, code: str) -> None:
    """What could never be asked is refused as such."""
    answer = refused(kay, url)
    assert answer["data"]["error_code"] == code
    assert answer["data"]["details"]["failed"][0]["url"] == url


def test_what_nobody_trusted_opens_nothing(kay: Agent, workshop: Workshop) -> None:
    """An agent can write the file."""
    with PageServer({"/": Sent("x")}) as pages:
        (workshop.root / "counterpoint.toml").write_text(pages.configuration)
        answer = refused(kay, pages.url("/"))
        assert "counterpoint trust" in answer["data"]["remediation"]
        assert pages.asked == []


def test_ten_pages_are_asked_for_at_most(kay: Agent) -> None:
    """And each once."""
    assert refused(kay, *["http://a/"] * 11)["data"]["error_code"] == "INVALID_FORMAT"
    assert refused(kay)["data"]["error_code"] in {"INVALID_FORMAT", "MISSING_REQUIRED"}


def test_a_pdf_is_read_with_the_numbers_of_its_pages(kay: Agent, workshop: Workshop) -> None:
    """What is damaged, is none, is too large or unpacks to gigabytes is refused, and only that."""
    there = {
        "/a": made("Retry with backoff", "The cache"),
        "/damaged": b"%PDF-1.4\nnothing of it",
        "/none": b"<h1>Hello</h1>",
        "/large": made("x") + bytes(10_000_001),
    }
    with PageServer(
        {path: Sent(body, kind="application/pdf") for path, body in there.items()}
    ) as pages:
        trusted(workshop, pages.configuration)
        data = told(kay, *map(pages.url, there))["data"]
    first = data["results"][0]
    assert (first["url"], first["content_type"]) == (pages.url("/a"), "application/pdf")
    lines = [line.strip() for line in first["content"].splitlines() if line.strip()]
    assert lines == ["[page 1]", "Retry with backoff", "[page 2]", "The cache"]
    failed = {one["url"]: one["error"] for one in data["failed"]}
    assert "damaged" in failed[pages.url("/damaged")]
    assert "is none" in failed[pages.url("/none")]
    assert "10000000 bytes" in failed[pages.url("/large")]
    assert {one["error_code"] for one in data["failed"]} == {"EXTRACT_FAILED"}


def test_a_pdf_is_told_by_its_bytes_and_one_of_pictures_is_no_page(
    kay: Agent, workshop: Workshop
) -> None:
    """Servers say wrong things of their files; and a page without a word says nothing."""
    there = {
        "/html": Sent(made("Read"), kind="text/html"),
        "/text": Sent(made("Too"), kind="text/plain"),
        "/scan": Sent(made("", " "), kind="application/pdf"),
    }
    with PageServer(there) as pages:
        trusted(workshop, pages.configuration)
        told = kay.does("research", action="extract", urls=[pages.url(path) for path in there])
    assert [one["content"] for one in told["data"]["results"]] == [
        *("[page 1]\nRead", "[page 1]\nToo"),
    ]
    (scan,) = told["data"]["failed"]
    assert (scan["error_code"], "has no text" in scan["error"]) == ("EXTRACT_FAILED", True)


def test_without_its_library_a_pdf_is_refused_with_what_to_install(
    kay: Agent, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other pages are read all the same."""
    monkeypatch.setattr(pdf, "LIBRARY", "pypdf_that_is_not_there")
    pages = PageServer({"/a": Sent(made("x"), kind="application/pdf"), "/b": Sent("<p>Yes</p>")})
    with pages:
        trusted(workshop, pages.configuration)
        data = told(kay, pages.url("/a"), pages.url("/b"))["data"]
        alone = refused(kay, pages.url("/a"))
    assert (data["count"], len(data["failed"])) == (1, 1)
    assert "counterpoint[documents]" in str(alone)


def test_who_leaves_while_a_pdf_is_read_is_heard(
    kay: Agent, workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The process that reads is ended, however long it would have gone on, and the same call reads the page afterwards."""
    with PageServer({"/a": Sent(made("Retry"), kind="application/pdf")}) as pages:
        trusted(workshop, pages.configuration)
        with monkeypatch.context() as patch:
            number = read_endlessly(patch, tmp_path)

            def watch(_words: str) -> None:
                if number.exists():
                    raise Unavailable("nobody waits for this call any more")

            extracting = kay.core.use(lambda context: Extracting(context, watch))
            with pytest.raises(Unavailable, match="nobody waits"):
                extracting.extract([pages.url("/a")])
            with pytest.raises(ProcessLookupError):
                os.kill(int(number.read_text()), 0)
        assert "Retry" in told(kay, pages.url("/a"))["data"]["results"][0]["content"]
