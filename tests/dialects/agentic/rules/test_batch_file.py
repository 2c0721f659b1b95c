"""What the file of a batch asks to have written, and what is wrong with one."""

from __future__ import annotations

import pytest

from counterpoint.dialects.agentic.nouns import BriefRequest
from counterpoint.dialects.agentic.rules.briefs import parse_batch
from counterpoint.kernel.errors import InvalidInput

HEAD = "# A batch\n\n**Service:** Harbour\n**Category:** guides\n**Priority:** High (the launch)\n"
COMMON = "```yaml\nSERVICE_NAME: Harbour\nTONE: calm\n```\n"
FULL = """### Article 1: How to moor
```yaml
SLUG: how-to-moor
TITLE: Mooring a boat
OUTLINE:
  - ropes
  - knots
DIFFICULTY: Beginner
PRIMARY_KEYWORD: mooring
SECONDARY_KEYWORDS: rope, knot
READING_TIME: 5
TONE: warm
WORD_COUNT: 300
CONTENT_TYPE: blog_post
```
"""
BARE = "### Article 2: How to row\nSome words.\n```yaml\nslug: how-to-row\npriority: 7\n```\n"


def article(*lines: str, number: int = 1) -> str:
    """Answer an article with such a block."""
    return f"### Article {number}: X\n```yaml\n" + "\n".join(lines) + "\n```\n"


def test_an_article_asks_for_a_brief_with_all_that_the_file_says() -> None:
    """What is its own goes before what is common, and what no brief has is a variable."""
    first, second = parse_batch(f"{HEAD}{COMMON}{FULL}{BARE}", "batch-1")
    assert first == BriefRequest(
        title="Mooring a boat",
        content_type="blog_post",
        slug="how-to-moor",
        description="ropes\nknots",
        service="Harbour",
        keywords=("mooring", "rope", "knot"),
        category="guides",
        difficulty="beginner",
        target_word_count=300,
        variables={"service_name": "Harbour", "tone": "warm", "reading_time": "5"},
        priority=80,
        batch="batch-1",
    )
    assert (second.title, second.slug, second.priority) == ("How to row", "how-to-row", 7)
    assert second.variables == {"service_name": "Harbour", "tone": "calm"}


def test_lines_may_end_as_on_windows() -> None:
    """Editors there write so, older ones of a Mac otherwise; and blocks with the other fence of Markdown."""
    for end in ("\r\n", "\r"):
        (only,) = parse_batch(FULL.replace("\n", end).replace("```", "~~~"), "b")
        assert (only.slug, only.priority) == ("how-to-moor", 50)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no article"),
        ("### Article 1: X\n", "the article of line 1: it has no SLUG"),
        (article("SLUG: a") + article("SLUG: A", number=2), "line 5 has the slug 'a' of another"),
        (article("SLUG: a", "CONTENT_TYPE: poem"), "CONTENT_TYPE is one of help_article"),
        (article("SLUG: a", "WORD_COUNT: many"), "not a whole number"),
        (article("SLUG: a", "PRIORITY: soon"), "not a whole number"),
        (article("SLUG: [a, {b: c}]"), "not a list of texts"),
        (article("SLUG: ../a"), "the article of line 1: the slug is not small letters"),
        (article("SLUG: a", "WORD_COUNT: -5"), "line 1: the word count is from 50"),
        (article("SLUG: a", "PRIORITY: 1000"), "line 1: the priority is from 1 to 100"),
        (article("SLUG: a", "DIFFICULTY: odd"), "line 1: the difficulty is one of beginner"),
        (f"{FULL}#### Article B\n```yaml\nSLUG: b\n```\n", "line 17 is a second one"),
        ("### Article 1: X\n```yaml\nSLUG: a\n", "the block of line 2 does not end"),
        (article("- a"), "the block of line 2 is not made of keys and values"),
        (article("SLUG: a", "SLUG: b"), "line 4: the key 'SLUG' stands in line 3 already"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, words: str) -> None:
    """Nothing is left out in silence."""
    with pytest.raises(InvalidInput) as caught:
        parse_batch(text, "b")
    assert words in caught.value.message


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_batch("### Article 1: X\n" + article("SLUG: a", "WORD_COUNT: x", number=2), "b")
    assert caught.value.message.count("the article of line") == 2
