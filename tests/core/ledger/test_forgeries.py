"""What is judged alike by two verifiers: what somebody forged who has the key."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from counterpoint.core.ledger.offline import verify_any
from counterpoint.kernel.errors import MalformedDocument
from fakes import forged_sessions
from fakes.forged_entries import FORGERIES, SOUND, put_together, taken_apart
from fakes.studio import FixedKey, Studio
from fakes.tampering import Lines, bundles, tell

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give a project with thoughts, a redaction and sealed sessions, which no test changes."""
    studio = tell()
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def sound(story: Studio) -> Lines:
    """Answer the lines of its sound bundle."""
    return bundles(story)[0]


@pytest.fixture(scope="module")
def second() -> dict[str, object]:
    """Answer the small verifier."""
    return runpy.run_path(str(VERIFIER))


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forgery_is_judged_alike(story: Studio, sound: Lines, second, name: str) -> None:
    """By what the format says: unsound, but for a few that only look odd."""
    bundle = taken_apart(sound)
    FORGERIES[name](bundle, story.system.audit.key, FixedKey())
    written = put_together(bundle, story.system.audit.key, FixedKey())
    expected = name in SOUND
    assert (judged(story, written), judged_again(story, written, second)) == (expected, expected)


@pytest.mark.parametrize("name", forged_sessions.SESSIONS)
def test_each_forgery_of_a_session_is_judged_alike(story: Studio, second, name: str) -> None:
    """Its thoughts, its seal, and the proof of where the seal stands in the ledger."""
    bundle = forged_sessions.taken_apart(bundles(story)[1])
    forged_sessions.SESSIONS[name](bundle, story.system.audit.key, FixedKey())
    written = forged_sessions.put_together(bundle, story.system.audit.key, FixedKey())
    expected = name in forged_sessions.SOUND
    assert (judged(story, written), judged_again(story, written, second)) == (expected, expected)


def judged(story: Studio, written: bytes) -> bool:
    """Tell what the product says of a file."""
    try:
        return verify_any(BytesIO(written), story.system.audit.key).sound
    except MalformedDocument:
        return False


def judged_again(story: Studio, written: bytes, second) -> bool:
    """Tell what the small verifier says of a file."""
    try:
        second["verify"](written, story.system.audit.key.to_text())
    except second["Broken"]:
        return False
    return True


def test_what_is_put_together_again_is_what_it_was(story: Studio, sound: Lines, second) -> None:
    """So that it is the forgery, and not the forging, that is found."""
    written = put_together(taken_apart(sound), story.system.audit.key, FixedKey())
    assert written == b"".join(line + b"\n" for line in sound)
    assert judged(story, written)
    assert judged_again(story, written, second)
