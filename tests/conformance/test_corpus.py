"""Every forged bundle and export, judged by three verifiers, one of them Sigstore's from npm.

The product and the small verifier read all of a bundle and must say the same. Sigstore's reads signed notes, proofs in their
trees, and signatures of envelopes: whatever it refuses the others refuse, and what they accept it accepts. Where it accepts
what the others refuse, it does not look there (all but READ), or is less strict about how a note is written (LENIENT).
"""

from __future__ import annotations

import base64
import json
import runpy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from counterpoint.core.ledger.merkle import inclusion_proof, leaf_hash, nodes_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.model.filters import Check, Judgment, Report
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.kernel.errors import MalformedDocument
from fakes import forged_entries, forged_sessions
from fakes.studio import FixedKey, Studio
from fakes.tampering import Lines, bundles, tell

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(120),
]

JUDGE = Path(__file__).parent / "programs" / "corpus.cjs"
VERIFIER = Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"
PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"

READ = frozenset(("checkpoint", "ledger note", "note", "path"))
"""Sorts of forgeries of what it reads; all others are of entries, rows and texts, and of what stands around a note."""
LENIENT = frozenset(
    (
        "checkpoint: a carriage return",
        "checkpoint: a tab",
        "checkpoint: size 0",
        "note: a line feed more",
        "note: a name with a plus beside",
        "note: a name with a space beside",
        "note: a name with another space beside",
        "note: a signature over a hundred",
        "note: base64 in another spelling",
        "note: no name beside",
        "note: our name with a short signature beside",
        "note: signed right and wrong",
        "note: signed wrong and right",
        "path: with a hash in capitals",
    )
)
"""What it takes although a note is not written as it must be: one right signature is enough for it."""

Case = dict[str, Any]
Judge = Callable[[list[Case]], list[str]]


@dataclass(frozen=True)
class Forged:
    """One bundle of the corpus: its name, its bytes, and whether it is sound by the format."""

    name: str
    data: bytes
    sound: bool


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give a project with thoughts, a redaction and sealed sessions, which no test changes."""
    studio = tell()
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def key(story: Studio) -> VerifierKey:
    """Answer the key of the project."""
    return story.system.audit.key


@pytest.fixture
def judge(ask: Callable[..., list[str]], programs: Path, key: VerifierKey) -> Judge:
    """Give what asks the other verifier."""
    public = Ed25519PublicKey.from_public_bytes(key.public_key)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    told = {
        "package": str(programs / "@sigstore" / "verify"),
        "publicKey": base64.b64encode(der).decode(),
        "keyId": key.key_id.hex(),
        "name": key.name,
        "vkey": key.to_text(),
    }

    return lambda cases: ask(JUDGE, told | {"cases": cases})


def of_ledgers(lines: Lines, key: VerifierKey) -> Iterator[Forged]:
    """Forge the bundle of a ledger in every way."""
    for name, made in forged_entries.FORGERIES.items():
        bundle = forged_entries.taken_apart(lines)
        made(bundle, key, FixedKey())
        data = forged_entries.put_together(bundle, key, FixedKey())
        yield Forged(name, data, name in forged_entries.SOUND)


def of_sessions(lines: Lines, key: VerifierKey) -> Iterator[Forged]:
    """Forge the bundle of a session in every way."""
    for name, made in forged_sessions.SESSIONS.items():
        bundle = forged_sessions.taken_apart(lines)
        made(bundle, key, FixedKey())
        data = forged_sessions.put_together(bundle, key, FixedKey())
        yield Forged(f"session {name}", data, name in forged_sessions.SOUND)


def read(data: bytes, key: VerifierKey) -> list[Case]:
    """Answer what the other verifier can read of a bundle: nothing of what is no JSON."""
    first, *lines = data.split(b"\n")
    cases: list[Case] = []
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        head = json.loads(first)
        note = head["checkpoint"]
        is_session = "session" in head
        origin = f"{key.name}/{head['session']}" if is_session else key.name
        sealed = {"checkpoint": note, "origin": origin, "proofs": []}
        if isinstance(note, str):
            cases.append(sealed)
            sealed["proofs"] = _proofs(lines[: int(note.split("\n")[1])])
        if is_session:
            ledger = head["ledger"]
            proofs = [
                {
                    "entry": base64.b64encode(one["entry"].encode()).decode(),
                    "index": json.loads(one["entry"])["n"],
                    "path": [str(part) for part in one["path"]],
                }
                for one in ledger["entries"]
            ]
            if isinstance(ledger["checkpoint"], str):
                cases.append(
                    {"checkpoint": ledger["checkpoint"], "origin": key.name, "proofs": proofs}
                )
    return cases


def _proofs(lines: Lines) -> list[Case]:
    """Answer each line of a bundle with its way to the root that the lines themselves make."""
    nodes = nodes_of([leaf_hash(line) for line in lines])
    return [
        {
            "entry": base64.b64encode(line).decode(),
            "index": place,
            "path": [part.hex() for part in inclusion_proof(place, len(lines), nodes)],
        }
        for place, line in enumerate(lines)
    ]


def judged(data: bytes, key: VerifierKey) -> bool:
    """Tell what the product says of a bundle."""
    try:
        return verify_any(BytesIO(data), key).sound
    except MalformedDocument:
        return False


def test_every_forged_bundle_is_judged_alike_by_three_verifiers(
    story: Studio, key: VerifierKey, judge: Judge
) -> None:
    """Of ledgers and of sealed sessions, verdict by verdict."""
    small = runpy.run_path(str(VERIFIER))

    def judged_again(data: bytes) -> bool:
        try:
            small["verify"](data, key.to_text())
        except small["Broken"]:
            return False
        return True

    ledger, session = bundles(story)
    corpus = [*of_ledgers(ledger, key), *of_sessions(session, key)]
    corpus += [
        Forged("untouched", b"\n".join([*one, b""]), sound=True) for one in (ledger, session)
    ]
    cases = [(number, case) for number, one in enumerate(corpus) for case in read(one.data, key)]
    said: dict[int, list[str]] = {}
    for (number, _), word in zip(cases, judge([case for _, case in cases]), strict=True):
        said.setdefault(number, []).append(word)
    passed: set[str] = set()
    for number, one in enumerate(corpus):
        verdicts = judged(one.data, key), judged_again(one.data)
        assert verdicts == (one.sound, one.sound), one.name
        if number in said:
            accepted = not any(said[number])
            assert accepted or not one.sound, (one.name, said[number])
            if accepted and not one.sound:
                passed.add(one.name.removeprefix("session "))
    assert {name for name in passed if name.split(":")[0] in READ} == LENIENT
    # It is asked about nearly all of them: only what is no JSON has nothing that it could read.
    assert len(said) > len(corpus) - 10


def test_the_page_says_what_each_verifier_reads() -> None:
    """And what Sigstore's is less strict about."""
    page = PAGE.read_text("utf-8")
    assert [name for name in LENIENT if f"`{name}`" not in page] == []


@pytest.fixture
def exports() -> Iterator[list[Case]]:
    """Give the envelopes of a receipt and of a verdict."""
    studio = Studio()
    ada, bob = studio.core("ada"), studio.core("bob")
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - verify: make\n  - review: yes\n"))
    token = ada.claims.start(item.ready[0]).claim.token
    ada.gates.verify(Check(item=item.ready[0]), token)
    ada.tasks.finish(item.ready[0], token, Report(outcome="done", summary="so"))
    bob.reviews.review(item.ready[0], Judgment(approves=False, reason="no ü"))
    with studio.view() as view:
        receipt, verdict = view.select(Receipt)[0].id, view.select(Verdict)[0].id
    exports = studio.system.exports
    yield [exports.receipt(receipt, "in-toto"), exports.verdict(verdict)]
    studio.close()


def _payload(old: bytes, new: bytes) -> Callable[[Case], object]:
    def change(one: Case) -> None:
        payload = base64.b64decode(one["payload"])
        assert old in payload
        one["payload"] = base64.b64encode(payload.replace(old, new, 1)).decode()

    return change


def _signature(change: Callable[[bytes], bytes]) -> Callable[[Case], object]:
    def changed(one: Case) -> None:
        (told,) = one["signatures"]
        told["sig"] = base64.b64encode(change(base64.b64decode(told["sig"]))).decode()

    return changed


ENVELOPES: dict[str, Callable[[Case], object]] = {
    "nothing": lambda one: None,
    "another result": _payload(b'"item"', b'"itEm"'),
    "a space more": _payload(b"{", b"{ "),
    "another type of payload": lambda one: one.update(payloadType="application/json"),
    "no type of payload": lambda one: one.update(payloadType=""),
    "an empty payload": lambda one: one.update(payload=""),
    "no signatures": lambda one: one.update(signatures=[]),
    "a signature of another byte": _signature(lambda sig: bytes([sig[0] ^ 1]) + sig[1:]),
    "a short signature": _signature(lambda sig: sig[:-1]),
    "an empty signature": _signature(lambda sig: b""),
    "signed by another": _signature(lambda sig: FixedKey(b"o" * 32).sign(b"x")),
    "another key's name": lambda one: one["signatures"][0].update(keyid="counterpoint/other"),
}


def test_every_forged_export_is_judged_alike_by_two_libraries(
    key: VerifierKey, judge: Judge, exports: list[Case]
) -> None:
    """By Sigstore's verifier and by securesystemslib: only what nobody touched holds."""
    public = SSlibKey(key.to_text(), "ed25519", "ed25519", {"public": key.public_key.hex()})
    for export in exports:
        forged = [json.loads(json.dumps(export)) for _ in ENVELOPES]
        for change, one in zip(ENVELOPES.values(), forged, strict=True):
            change(one)
        said = dict(zip(ENVELOPES, judge(forged), strict=True))
        for name, one in zip(ENVELOPES, forged, strict=True):
            try:
                Envelope.from_dict(one).verify([public], 1)
                accepted = True
            except VerificationError:
                accepted = False
            assert (not said[name], accepted) == (name == "nothing",) * 2, (name, said[name])
