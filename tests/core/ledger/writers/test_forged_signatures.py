"""What writers signed, and what somebody forged of it: two verifiers judge it alike."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.ledger.lines import BundleReport
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.model.access import PROGRAM
from counterpoint.core.model.filters import Note
from counterpoint.kernel.errors import MalformedDocument
from fakes.forged_signatures import ADA, EVE, FORGERIES, SOUND, Signed
from fakes.forgeries import put_together, taken_apart
from fakes.studio import FixedKey, Studio
from fakes.tampering import Lines

VERIFIER = runpy.run_path(str(Path(__file__).parents[4] / "docs" / "verifier" / "verify.py"))


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give a project in which two agents of one name wrote in turn, and signed."""
    studio = Studio()
    studio.system.signing.name_key()
    ada, eve = studio.core("ada"), studio.core("eve")
    for number in range(3):
        ada.journal.append(Note(kind="comment", body=f"ada {number}"))
        eve.journal.append(Note(kind="comment", body=f"eve {number}"))
    studio.system.memory.put("project", "n", 1)
    assert studio.system.writers.sign() == 3
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def sound(story: Studio) -> Lines:
    """Answer the lines of its bundle."""
    story.system.signing.renew()
    return b"".join(story.system.audit.export()).splitlines()


def judged(written: bytes, key: Any) -> BundleReport | None:
    """Answer what the product finds; None for what it cannot read."""
    try:
        return verify_any(BytesIO(written), key)
    except MalformedDocument:
        return None


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forged_signature_is_judged_alike(story: Studio, sound: Lines, name: str) -> None:
    """By what the format says."""
    key = story.system.audit.key
    it = Signed(taken_apart(sound), key, FixedKey())
    FORGERIES[name](it)
    written = put_together(it.bundle, key, FixedKey())
    found = judged(written, key)
    try:
        VERIFIER["verify"](written, key.to_text())
        again = True
    except VERIFIER["Broken"]:
        again = False
    expected = name in SOUND
    assert (found is not None and found.sound, again) == (expected, expected)
    assert all(fault.hint for fault in found.faults) if found else True


def test_a_bundle_tells_how_many_entries_their_writers_signed(story: Studio, sound: Lines) -> None:
    """And where those are that they did not."""
    key = story.system.audit.key
    it = Signed(taken_apart(sound), key, FixedKey())
    report = judged(put_together(it.bundle, key, FixedKey()), key)
    assert report is not None
    assert (report.signed, report.unsigned, report.unsigned_places) == (9, 0, ())
    FORGERIES["an entry in the writer's name at the end"](it)
    FORGERIES["an entry in nobody's name at the end"](it)
    it.bundle.texts.remove(it.line(EVE))
    report = judged(put_together(it.bundle, key, FixedKey()), key)
    assert report is not None
    missing = [*it.places(EVE), it.places(ADA)[-1], it.places(PROGRAM)[-1]]
    assert (report.signed, report.unsigned, report.unsigned_places) == (6, 5, tuple(missing))


def test_the_first_entry_is_not_told_as_unsigned(story: Studio, sound: Lines) -> None:
    """All others stand upon it, so that nobody can append it; two verifiers leave it out."""
    key = story.system.audit.key
    it = Signed(taken_apart(sound), key, FixedKey())
    it.bundle.texts.remove(it.line(PROGRAM))
    written = put_together(it.bundle, key, FixedKey())
    report = judged(written, key)
    assert report is not None
    last = it.places(PROGRAM)[-1]
    assert (report.signed, report.unsigned_places) == (6, (last,))
    told = f" Not signed by their writers: 1 entries ({last})."
    assert VERIFIER["verify"](written, key.to_text()) == told
