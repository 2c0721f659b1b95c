"""Learnings: kept if they say enough, found by relevance, place and quality."""

from __future__ import annotations

import pytest

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.dialects.symphony.nouns import IssueDraft, LearningDraft, LearningQuery
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.kernel.errors import InvalidInput, NotFound

PATTERN = "Nuxt auto-imports whatever lies in app/utils, so explicit imports fail there"
OTHER = "The database of the tests is opened in memory, never share it between workers"


@pytest.fixture
def issue(ada):
    """Give an issue; answer its id."""
    return ada.use(Issues).open(IssueDraft(title="Hull")).id


def keep(core, issue, pattern=PATTERN, **more):
    """Keep a learning."""
    return core.use(Learnings).keep(LearningDraft(item=issue, pattern=pattern, **more))


def found(core, query, **more):
    """Answer the ids that a search finds, in order."""
    return [
        one.learning.record.id
        for one in core.use(Learnings).find(LearningQuery(query=query, **more))
    ]


def test_a_search_ranks_and_tells_the_parts(ada, issue):
    """Words by their beginnings and stems; the pattern counts more than the context."""
    first = keep(ada, issue).learning.record.id
    context = "This was seen while explicit imports were looked for in the tests of the whole application. "
    second = keep(ada, issue, OTHER, context=context * 2).learning.record.id
    assert found(ada, "explicit importing") == [first, second]
    best, worse = ada.use(Learnings).find(LearningQuery(query="explicit imports"))
    assert (best.place, worse.place) == (1.0, 0.5)
    assert best.score >= worse.score
    assert found(ada, "auto") == [first]
    assert found(ada, "explicit", limit=1) == [first]
    assert found(ada, "zebra") == []
    with pytest.raises(InvalidInput):
        found(ada, "***")


def test_quality_is_asked_for_but_verified_ones_always_pass(studio, ada, person, issue):
    """A person judges; a quality beyond its ends and a record of another kind are refused."""
    first = keep(ada, issue).learning.record.id
    second = keep(ada, issue, OTHER).learning.record.id
    after = person.use(Learnings).judge(first, score=10)
    assert (after.quality, after.is_verified) == (10, False)
    assert found(ada, "explicit tests", min_quality=40) == [second]
    assert person.use(Learnings).judge(first, verified=True).is_verified
    assert sorted(found(ada, "explicit tests", min_quality=40)) == [first, second]
    assert not person.use(Learnings).judge(first, verified=False).is_verified
    studio.refuses(InvalidInput, lambda: person.use(Learnings).judge(first, score=101))
    note = ada.journal.append(Note(kind="finding", body="x")).id
    studio.refuses(InvalidInput, lambda: person.use(Learnings).judge(note, verified=True))
    studio.refuses(NotFound, lambda: person.use(Learnings).judge("demo-r99", verified=True))


def test_learnings_of_another_source_and_redacted_ones_are_read_too(studio, ada, person, issue):
    """One is taken at its text; of the other only the mark is left."""
    note = ada.journal.append(Note(kind="learning", body="A hull is dry", item=issue))
    (plain,) = ada.use(Learnings).find(LearningQuery(query="hull"))
    assert (plain.learning.pattern, plain.learning.kind) == ("A hull is dry", "pattern")
    kept = keep(ada, issue, run="r").learning.record
    person.erasing.of_row(Record, kept.id, reason="told too much")
    again = [one for one in ada.use(Issues).records(issue, "learning", 0, 9) if one.id == kept.id]
    assert again[0].body == "[redacted]"
    assert note.id in found(ada, "hull")
