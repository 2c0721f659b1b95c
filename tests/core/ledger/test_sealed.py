"""Bundles of sealed sessions: what was thought is proved to somebody who has only the key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.lines import BundleReport
from counterpoint.core.ledger.merkle import root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.sealed import SealedHeader, dump_sealed, verify_sealed
from counterpoint.core.ledger.thoughts import Link
from counterpoint.core.ledger.trail import origin_of
from counterpoint.core.model.journal import Record
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import MalformedDocument
from fakes.studio import FixedKey, Studio

Lines = list[bytes]


def present() -> Studio:
    """Answer a project in which three agents thought about two tasks; two sessions are sealed."""
    studio = Studio()
    ada, bob, cyd = studio.core("ada"), studio.core("bob"), studio.core("cyd")
    first, second = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n- [ ] B\n")).ready
    for number in range(4):
        ada.use(Thoughts).think("plan", f"of ada {number}", task=first)
        bob.use(Thoughts).think("analysis", f"of bob {number}", task=first)
        ada.use(Thoughts).think("decision", f"beside {number % 2}", task=second)
    cyd.use(Thoughts).think("plan", "of cyd", task=first)
    for core in (ada, cyd):
        core.use(Seals).seal(core.caller.actor.session)
    return studio


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give that project, which no test changes."""
    studio = present()
    yield studio
    studio.close()


@pytest.fixture
def key(story: Studio) -> VerifierKey:
    """Answer the key of the project."""
    return story.system.audit.key


@pytest.fixture
def lines(story: Studio) -> Lines:
    """Answer the lines of the bundle of ada's session."""
    story.system.signing.renew()
    return list(story.system.use(Seals).export(session(story)))


def session(story: Studio, place: int = 0) -> str:
    """Answer a sealed session."""
    return story.system.use(Seals).list()[place].session


def headed(lines: Lines, change: Callable[[dict[str, Any]], object]) -> Lines:
    """Answer a bundle whose header was changed."""
    header = canonical.load(lines[0])
    change(header)
    return [canonical.dump(header) + b"\n", *lines[1:]]


def judged(lines: Lines, key: VerifierKey | None) -> BundleReport:
    """Answer the report, which both ways into the check must give alike."""
    report = verify_any(lines, key)
    again = verify_sealed(lines, key)
    assert [one.message for one in report.faults] == [one.message for one in again.faults]
    return report


def test_a_sealed_session_is_proved_with_the_key_from_outside(
    story: Studio, lines: Lines, key: VerifierKey
) -> None:
    """Its thoughts, its root, and its place in the ledger of the project."""
    report = judged(lines, key)
    assert report.faults == ()
    assert (report.sound, report.trusted) == (True, True)
    seal = story.system.use(Seals).root(session(story))
    assert (report.project, report.session) == ("demo", seal.session)
    assert (report.size, report.root) == (seal.size, seal.root) == (8, report.root)
    assert (report.thoughts, report.seals, report.texts, report.redacted) == (8, 1, 6, 0)
    assert Link.from_bytes(lines[8][:-1]).leaf.hex() == report.last
    assert report.key == key.to_text()
    assert not judged(lines, None).trusted


def test_what_a_bundle_says_is_read_back(lines: Lines) -> None:
    """The header has one form."""
    header = SealedHeader.from_bytes(lines[0][:-1])
    assert header.to_bytes() + b"\n" == lines[0]
    assert next(dump_sealed(header, [], [])) == lines[0]


@pytest.mark.parametrize(
    "change",
    [
        {"format": "counterpoint-sessions"},
        {"version": 2},
        {"project": ""},
        {"session": 7},
        {"session": ""},
        {"vkey": "none"},
        {"checkpoint": ""},
        {"checkpoint": "none"},
        {"more": 1},
        {"ledger": None},
        {"ledger": {"checkpoint": "x"}},
        {"ledger": {"checkpoint": "", "entries": [{"entry": "{}", "path": []}]}},
        {"ledger": {"checkpoint": "x", "entries": []}},
        {"ledger": {"checkpoint": "x", "entries": {}}},
        {"ledger": {"checkpoint": "x", "entries": [1]}},
        {"ledger": {"checkpoint": "x", "entries": [{"entry": "{}"}]}},
        {"ledger": {"checkpoint": "x", "entries": [{"entry": "", "path": []}]}},
        {"ledger": {"checkpoint": "x", "entries": [{"entry": "{}", "path": {}}]}},
        {"ledger": {"checkpoint": "x", "entries": [{"entry": "{}", "path": ["00"]}]}},
    ],
)
def test_a_header_that_cannot_be_read_is_refused(lines: Lines, change: dict[str, Any]) -> None:
    """Without a sound header nothing after it means anything."""
    with pytest.raises(MalformedDocument):
        verify_any(headed(lines, lambda header: header.update(change)))


@pytest.mark.parametrize("lines", [[], [b""], [b"\n"], [b"junk\n"], [b"[]\n"], [b"\xff\n"]])
def test_something_that_is_no_bundle_is_refused(lines: Lines) -> None:
    """An empty file or any other file is an unreadable document."""
    with pytest.raises(MalformedDocument):
        verify_any(lines)


def foreign(header: dict[str, Any]) -> None:
    """Take the entry of another project, with a path that fits nothing."""
    one = header["ledger"]["entries"][0]
    one["entry"] = one["entry"].replace('"p":"demo"', '"p":"dema"')


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another project": (lambda h: h.update(project="other"), "is of the project"),
    "another session": (lambda h: h.update(session="ses_x"), "is of the log"),
    "another ledger": (lambda h: h["ledger"].update(checkpoint="x"), "the ledger's part"),
    "no entry": (lambda h: h["ledger"]["entries"][0].update(entry="{}"), "no valid entry"),
    "entry of another": (foreign, "does not lead"),
    "no path": (lambda h: h["ledger"]["entries"][0].update(path=[]), "does not lead"),
    "seal for ledger": (lambda h: h["ledger"].update(checkpoint=h["checkpoint"]), "is of the log"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_header_put_together_from_other_parts_is_found(
    lines: Lines, key: VerifierKey, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    """Each part is signed or proved; none can be exchanged."""
    report = judged(headed(lines, change), key)
    assert any(words in fault.message for fault in report.faults)
    assert all(fault.hint for fault in report.faults)
    assert not report.trusted


def test_the_seal_of_another_session_is_found(
    story: Studio, lines: Lines, key: VerifierKey
) -> None:
    story.system.signing.renew()
    strange = canonical.load(next(story.system.use(Seals).export(session(story, 1))))
    report = judged(headed(lines, lambda header: header.update(ledger=strange["ledger"])), key)
    assert any("does not write this seal" in fault.message for fault in report.faults)


def test_an_entry_of_another_project_is_found(story: Studio) -> None:
    """Two projects may be signed by one key; an entry says of which it is."""
    story.system.signing.renew()
    lines = list(story.system.use(Seals).export(session(story)))
    header = SealedHeader.from_bytes(lines[0][:-1])
    renamed = headed(lines, lambda one: one.update(project="other"))
    report = verify_sealed(renamed, header.key)
    assert [fault.message for fault in report.faults] == [
        "the ledger's part: an entry is of the project demo, not of other"
    ]


def test_a_bundle_made_anew_by_a_stranger_is_found(lines: Lines, key: VerifierKey) -> None:
    """With a key of one's own under the same name everything can be signed, but not trusted."""
    signer = FixedKey(b"s" * 32)
    stranger = VerifierKey(name=key.name, public_key=signer.public_key)
    links = [Link.from_bytes(line[:-1]) for line in lines[1:9]]
    signed = Checkpoint(
        origin=origin_of(key, links[0].session), size=8, root=root_of(one.leaf for one in links)
    )
    note = checkpoints.seal(signed, signer.sign, stranger)
    forged = headed(lines, lambda one: one.update(vkey=stranger.to_text(), checkpoint=note))
    found = [fault.code for fault in judged(forged, key).faults]
    assert found.count("proof_mismatch") == len(found) >= 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[:4] + lines[5:], "the root of"),
        (lambda lines: lines[:8], "the root of"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "the root of"),
        (lambda lines: [*lines[:2], lines[1], *lines[3:]], "came before"),
        (lambda lines: [*lines[:2], b"{}\n", *lines[3:]], "cannot be read"),
        (lambda lines: [*lines[:2], lines[2][:-1], *lines[3:]], "cannot be read"),
        (lambda lines: [*lines[:2], lines[2].replace(b"ada", b"eve"), *lines[3:]], "the root of"),
        (lambda lines: [*lines[:2], lines[2].replace(b"ses_", b"ses-"), *lines[3:]], "another session"),
        (lambda lines: lines[:-1], "1 texts are missing"),
        (lambda lines: [*lines, lines[-1]], "its place is before"),
        (lambda lines: [*lines[:-2], lines[-1], lines[-2]], "its place is before"),
    ],
    ids=["removed", "cut", "swapped", "doubled", "junk", "no end", "edited", "moved", "text", "texts",
         "order"],
)  # fmt: skip
def test_other_thoughts_than_the_sealed_ones_are_found(
    lines: Lines, key: VerifierKey, change: Callable[[Lines], Lines], words: str
) -> None:
    """Whatever is done to the lines."""
    report = judged(change(lines), key)
    assert any(words in fault.message for fault in report.faults)
    assert report.trusted


def test_a_bundle_without_its_thoughts_is_found(lines: Lines, key: VerifierKey) -> None:
    """A header alone proves nothing."""
    report = judged(lines[:1], key)
    assert (report.sound, report.size, report.last) == (False, 0, GENESIS)


def test_a_text_that_was_taken_away_is_told_of_by_the_ledger() -> None:
    """The entry of the redaction comes with the bundle; without it the text is missing."""
    story = present()
    cyd = session(story, 1)
    person = story.core("pat", kind="human")
    person.erasing.of_row(Record, "demo-r1", reason="of no concern here")
    person.erasing.of_row(Record, "demo-r13", reason="private")
    story.system.signing.renew()
    lines = list(story.system.use(Seals).export(cyd))
    assert len(canonical.load(lines[0])["ledger"]["entries"]) == 2
    report = judged(lines, story.system.audit.key)
    assert (report.sound, report.texts, report.redacted) == (True, 0, 1)
    without = headed(lines, lambda header: header["ledger"]["entries"].pop())
    assert not judged(without, story.system.audit.key).sound
    story.close()
