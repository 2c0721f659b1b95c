"""Thousands of tamperings, all found; a second verifier that shares no code agrees."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random

import orjson
import pytest

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.entry import list_references
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.offline import verify_any
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.kernel.errors import MalformedDocument
from fakes.long_forms import share
from fakes.studio import FixedKey, Studio
from fakes.tampering import TAMPERINGS, Lines, bundles, dump, sealed, tamper, tell, whole

pytestmark = pytest.mark.no_cover
"""Each line of the verifier is measured in the tests beside this one; here it is run too often for that."""

PARTS = share(10)
EACH = 1_000
"""Tamperings in each part, half of them of the bundle of a project, half of a session's."""
AGREED = share(200)
VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give a project with thoughts, a redaction and sealed sessions, which no test changes."""
    studio = tell()
    studio.system.signing.renew()
    yield studio
    studio.close()


@pytest.fixture
def key(story: Studio) -> VerifierKey:
    """Answer the key of the project."""
    return story.system.audit.key


@pytest.fixture
def sound(story: Studio) -> list[Lines]:
    """Answer the sound bundles."""
    return bundles(story)


def is_sound(data: bytes, key: VerifierKey) -> bool:
    """Tell what the product says of a file."""
    try:
        return verify_any(BytesIO(data), key).sound
    except MalformedDocument:
        return False


Agrees = Callable[[bytes, VerifierKey], bool]


@pytest.fixture(scope="module")
def agrees() -> Agrees:
    """Answer what tells what the second verifier says of a file."""
    verifier = runpy.run_path(str(VERIFIER))

    def agrees(data: bytes, key: VerifierKey) -> bool:
        try:
            verifier["verify"](data, key.to_text())
        except verifier["Broken"]:
            return False
        return True

    return agrees


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_every_tampering_of_a_bundle_is_found(
    sound: list[Lines], key: VerifierKey, part: int
) -> None:
    """Edits, removals, insertions, other orders, cuts, and forgeries with everything hashed anew."""
    chance = Random(f"tampering {part}")  # noqa: S311 -- seeded, so that a failure comes back
    tried: Counter[str] = Counter()
    for number in range(EACH):
        name, changed = tamper(sound[number % 2], chance)
        tried[name] += 1
        assert not is_sound(whole(changed), key), (name, number)
    assert len(tried) == len(TAMPERINGS)
    assert min(tried.values()) > EACH // 20


def test_a_second_verifier_accepts_what_we_export(
    story: Studio, key: VerifierKey, agrees: Agrees
) -> None:
    """It was written from the rules alone."""
    for session in [one.session for one in story.system.use(Seals).list()]:
        assert agrees(b"".join(story.system.use(Seals).export(session)), key)
    assert agrees(b"".join(story.system.audit.export()), key)
    other = VerifierKey(name=key.name, public_key=bytes(32))
    assert not agrees(b"".join(story.system.use(Seals).export(sealed(story))), other)


@pytest.mark.faults
def test_a_second_verifier_finds_what_we_find(
    sound: list[Lines], key: VerifierKey, agrees: Agrees
) -> None:
    """Of tampered bundles, too, both say the same: none holds."""
    chance = Random("agreement")  # noqa: S311 -- seeded, so that a failure comes back
    for number in range(AGREED):
        name, changed = tamper(sound[number % 2], chance)
        assert not agrees(whole(changed), key), (name, number)


def test_a_signed_reference_that_is_no_digest_is_found_by_both(
    story: Studio, key: VerifierKey, agrees: Agrees
) -> None:
    """Whoever holds the key can sign anything; only 64 digits in lower case name a text."""
    head, *lines = b"".join(story.system.audit.export()).split(b"\n")
    size = sum(line.startswith(b'{"a":') for line in lines)
    last = lines[size - 1]
    digest = list_references(last)[0].encode()

    def signed(spelled: bytes) -> bytes:
        entries = [*lines[: size - 1], last.replace(digest, spelled)]
        root = root_of(map(leaf_hash, entries))
        made = Checkpoint(origin=key.name, size=size, root=root)
        header = {**orjson.loads(head), "checkpoint": seal(made, FixedKey().sign, key)}
        return b"\n".join([dump(header), *entries, *lines[size:]])

    for spelled, holds in ((digest, True), (digest.upper(), False), (digest[:-2] + b" 0", False)):
        assert is_sound(signed(spelled), key) is holds
        assert agrees(signed(spelled), key) is holds


def test_the_second_verifier_is_small_and_alone() -> None:
    """It can be read in one sitting, and imports nothing of ours and nothing to install."""
    lines = VERIFIER.read_text("utf-8").splitlines()
    # Half of it is arithmetic of three curves and forms; the rules themselves stay some 570.
    assert len(lines) <= 965
    imported = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    known = {"base64", "bisect", "datetime", "hashlib", "json", "pathlib", "re", "sys"}
    known |= {"unicodedata"}
    assert imported == known


def test_the_second_verifier_is_a_program(story: Studio, key: VerifierKey, tmp_path: Path) -> None:
    """A file, and the key if there is one; the exit code is the answer."""
    file = tmp_path / "session.bundle"
    data = b"".join(story.system.use(Seals).export(sealed(story)))

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", str(VERIFIER), *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    file.write_bytes(data)
    assert run(str(file), key.to_text()) == (0, "Sound.\n")
    assert run(str(file), "--key", key.to_text()) == (0, "Sound.\n")
    assert run("--help") == (0, "usage: verify.py BUNDLE [--key KEY]\n")
    assert run(str(file))[1].startswith("Sound in itself")
    file.write_bytes(data.replace(b"ada", b"eve"))
    code, said = run(str(file), key.to_text())
    assert (code, said[:8]) == (1, "Broken: ")
    for words in (
        (),
        (str(file), ""),
        (str(file), "--key"),
        (str(tmp_path / "none"),),
        (__file__,),
    ):
        code, said = run(*words)
        assert (code, len(said.splitlines())) == (2, 1), said
