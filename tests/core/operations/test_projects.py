"""Which repository a project belongs to."""

from __future__ import annotations

from counterpoint.kernel.errors import Forbidden

ROOTS, OTHERS = ("a" * 40,), ("b" * 40,)


def test_an_agent_makes_no_repository_the_projects(studio, ada, person):
    before = ada.projects.remember_repository(ROOTS)
    refusal = studio.refuses(Forbidden, lambda: ada.projects.adopt(OTHERS))
    assert "say which repository a project belongs to" in refusal.message
    assert ada.projects.root_commits() == before == ROOTS
    assert person.projects.adopt(OTHERS) == (*ROOTS, *OTHERS)
    assert ada.projects.remember_repository(("c" * 40,)) == (*ROOTS, *OTHERS)


def test_the_same_repository_again_writes_nothing(studio, person):
    """What a person signs names its first commits."""
    proposed = person.projects.proposed_adoption(OTHERS)
    assert (proposed.action, proposed.decision) == ("repository.adopted", {"roots": [*OTHERS]})
    assert person.projects.adopt(OTHERS) == OTHERS
    before = studio.image()
    assert person.projects.adopt(OTHERS) == OTHERS
    assert studio.image() == before
