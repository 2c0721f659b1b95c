"""Briefs: commissioned, found, listed, moved along."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.agentic.nouns import BRIEF, BriefFilter, BriefRequest
from counterpoint.dialects.agentic.rules.briefs import SLUG_LIMIT, refuse_faults, slug_of
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    Conflict,
    IllegalMove,
    InvalidInput,
    NotFound,
    StaleVersion,
)

ALL = BriefFilter()


def wish(title: str = "How to log in", **said: object) -> BriefRequest:
    """Answer a commission with a title and a type."""
    return BriefRequest(**{"title": title, "content_type": "help_article", **said})


def test_a_brief_keeps_all_that_was_asked_for(studio, ada):
    """With a number, a slug, the first state, and whoever asked."""
    plan = ada.plans.create(Draft(kind="plan", title="Docs")).root.id
    brief = ada.use(Briefs).create(
        wish(
            " How to lóg in ", description="Short.", service="auth", keywords=("login", "login", "sso"),
            category="start", difficulty="beginner", target_word_count=300, variables={"a": [1, None]},
            priority=100, scheduled_for="2026-12-01T10:00:00+02:00", item=plan,
        )
    )  # fmt: skip
    assert (brief.id, brief.number, brief.slug) == ("demo-b1", 1, "how-to-log-in")
    assert (brief.title, brief.description, brief.keywords) == (
        "How to lóg in",
        "Short.",
        ("login", "sso"),
    )
    assert (brief.service, brief.category, brief.difficulty) == ("auth", "start", "beginner")
    assert (brief.target_word_count, brief.priority, brief.item) == (300, 100, plan)
    assert canonical.load(brief.variables) == {"a": [1, None]}
    assert (brief.status, brief.version, brief.agent) == ("pending", 1, "ada")
    assert brief.scheduled_for == "2026-12-01T08:00:00.000Z"
    assert brief.created_at == brief.updated_at
    assert ada.use(Briefs).get("demo-b1") == ada.use(Briefs).get("how-to-log-in") == brief
    last = studio.last()
    assert (last.action, last.subject) == ("brief.created", brief.id)
    assert last.facts == {"brief": brief.id, "title": "How to lóg in"}


def test_what_is_not_said_has_usual_values(ada):
    """A day alone is its beginning in UTC."""
    brief = ada.use(Briefs).create(wish(scheduled_for="2026-12-01"))
    assert (brief.priority, brief.target_word_count, brief.variables) == (50, 800, "")
    assert brief.scheduled_for == "2026-12-01T00:00:00.000Z"


def test_a_slug_is_taken_once(studio, ada):
    """One that was asked for is refused; one that is made is made free."""
    assert ada.use(Briefs).create(wish(slug="one")).slug == "one"
    fault = studio.refuses(Conflict, lambda: ada.use(Briefs).create(wish(slug="one")))
    assert fault.facts == {"brief": "demo-b1"}
    assert [ada.use(Briefs).create(wish("One!")).slug for _ in range(2)] == ["one-2", "one-3"]
    assert ada.use(Briefs).create(wish("???")).slug == "brief"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"title": " "}, "no title"),
        ({"content_type": "poem"}, "help_article, blog_post, landing_page, social_post"),
        ({"difficulty": "easy"}, "beginner, intermediate, advanced"),
        ({"priority": 0}, "from 1 to 100"),
        ({"priority": 101}, "from 1 to 100"),
        ({"target_word_count": 49}, "from 50 to 20000"),
        ({"slug": "A b"}, "the slug"),
        ({"slug": "a" * (SLUG_LIMIT + 1)}, "the slug"),
        ({"description": "x" * 100_001}, "longer than 100000"),
        ({"keywords": ("k",) * 51}, "more than 50 keywords"),
        ({"service": "x" * 1001}, "longer than 1000"),
        ({"variables": {"a": "x" * 16_000}}, "more than 16000 bytes"),
        ({"scheduled_for": "soon"}, "ISO 8601"),
        ({"scheduled_for": "0001-01-01T00:00:00+10:00"}, "ISO 8601"),
    ],
)
def test_what_cannot_be_a_brief_is_refused(studio, ada, said, words):
    """Each rule, and all that is broken together."""
    assert (
        words in studio.refuses(InvalidInput, lambda: ada.use(Briefs).create(wish(**said))).message
    )
    both = said | {"title": "a\nb"}
    fault = studio.refuses(InvalidInput, lambda: ada.use(Briefs).create(wish(**both)))
    assert "more than one line" in fault.message


def test_a_brief_belongs_to_something_that_is_there(studio, ada):
    studio.refuses(NotFound, lambda: ada.use(Briefs).create(wish(item="demo-9")))
    studio.refuses(NotFound, lambda: ada.use(Briefs).get("demo-b9"))
    studio.refuses(NotFound, lambda: ada.use(Briefs).move("demo-b9", "queued"))


def test_briefs_are_listed_latest_first_in_pages(ada):
    """All of them, or those of a state, a type, a service, a category, a plan."""
    plan = ada.plans.create(Draft(kind="plan", title="Docs")).root.id
    said = [
        {"service": "s"}, {"category": "c"}, {"item": plan}, {"content_type": "blog_post"}, {},
    ]  # fmt: skip
    made = [ada.use(Briefs).create(wish(f"T{n}", **one)) for n, one in enumerate(said)]
    ada.use(Briefs).move(made[4].id, "queued")

    def found(after=0, limit=10, **sought):
        return [one.number for one in ada.use(Briefs).list(BriefFilter(**sought), after, limit)]

    assert found(limit=2) == [5, 4]
    assert found(after=4, limit=2) == [3, 2]
    assert found(after=1) == []
    assert (found(service="s"), found(category="c"), found(item=plan)) == ([1], [2], [3])
    assert (found(content_type="blog_post"), found(status="queued")) == ([4], [5])
    assert found(status="queued", service="s") == []
    assert ada.use(Briefs).counts(ALL) == dict.fromkeys(BRIEF.categories, 0) | {
        "pending": 4,
        "queued": 1,
    }
    assert ada.use(Briefs).counts(BriefFilter(service="s"))["pending"] == 1


def test_a_brief_moves_along_its_table(studio, ada, bob):
    """Each move counts a version and says why; the same state again is no move."""
    brief = ada.use(Briefs).create(wish())
    for version, status in enumerate(("queued", "generating", "review", "published"), 2):
        moved = bob.use(Briefs).move(brief.id, status, expected_version=version - 1)
        assert (moved.status, moved.version) == (status, version)
    assert studio.last().facts == {"moved": ["review", "published"]}
    studio.refuses(IllegalMove, lambda: ada.use(Briefs).move(brief.id, "queued"))
    before = studio.image()
    assert ada.use(Briefs).move(brief.id, "published").version == 5
    assert studio.image() == before
    studio.refuses(
        StaleVersion, lambda: ada.use(Briefs).move(brief.id, "failed", expected_version=4)
    )
    other = ada.use(Briefs).create(wish("Other"))
    assert ada.use(Briefs).move(other.id, "failed", "no model").reason == "no model"
    assert ada.use(Briefs).move(other.id, "queued").reason == ""
    studio.refuses(InvalidInput, lambda: ada.use(Briefs).move(other.id, "lost"))


def test_secrets_are_masked_in_a_brief(studio, ada):
    """In its words, its values, and the slug made of its title."""
    hidden = "hunter22hunter"
    studio.masking(hidden)
    ada = studio.core("ada")
    brief = ada.use(Briefs).create(
        wish(
            f"Log in with {hidden}", description=hidden, service=hidden, category=hidden,
            keywords=(hidden,), variables={"a": hidden},
        )
    )  # fmt: skip
    ada.use(Briefs).move(brief.id, "failed", f"it said {hidden}")
    assert hidden not in repr(studio.image())
    assert hidden not in repr(studio.last())


def test_a_brief_is_found_by_its_words(ada):
    """In its title, keywords and description; as a brief, and for its plan."""
    plan = ada.plans.create(Draft(kind="plan", title="Docs")).root.id
    brief = ada.use(Briefs).create(
        wish("Zebra", keywords=("okapi",), description="giraffe", item=plan)
    )
    for word in ("zebra", "okapi", "giraffe"):
        (hit,) = ada.overview.search(word, limit=5)
        assert (hit.kind, hit.item, hit.row) == ("brief", plan, brief)
    assert ada.overview.search("zebra", kinds=("task",), limit=5) == []


@given(st.text(max_size=200))
def test_every_title_has_a_slug_that_may_be_asked_for(title):
    """Short letters and digits, also of a title that has none."""
    refuse_faults(wish(slug=slug_of(title)))
