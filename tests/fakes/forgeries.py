"""Bundles that somebody forged who has the key, each kind by a function."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey, to_base64
from fakes.registry import Registry
from fakes.studio import FixedKey
from fakes.tampering import Lines, dump

Value = Any


@dataclass
class Bundle:
    """A bundle taken apart; a line may be a value or bytes, which then stay as they are.

    note: makes the checkpoint from its text; rechained: whether hashes are made anew.
    """

    head: Value
    lines: list[Value]
    texts: list[Value]
    rechained: bool = True
    size: str = ""
    root: str = ""
    origin: str = ""
    more: str = ""
    note: Callable[[str], str] | None = None
    ending: bytes = b"\n"
    start: bytes = b""
    raw_head: Callable[[bytes], bytes] = field(default=lambda data: data)

    @property
    def rows(self) -> list[tuple[Value, Value]]:
        """Every row with its entry."""
        return [(entry, row) for entry in self.lines for row in entry.get("r", ())]

    def row(self, table: str, place: int = 0) -> Value:
        """Answer the row of a table that comes at a place."""
        return [row for _, row in self.rows if row["t"] == table][place]


def taken_apart(lines: Lines) -> Bundle:
    """Answer the parts of a sound bundle, to be changed."""
    values = [orjson.loads(line) for line in lines]
    proved = int(values[0]["checkpoint"].split("\n")[1])
    return Bundle(values[0], values[1 : proved + 1], values[proved + 1 :])


def put_together(bundle: Bundle, key: VerifierKey, signer: FixedKey) -> bytes:
    """Answer the file: hashed from the first entry to the root, and signed by the owner of the key."""
    written: Lines = []
    before = "0" * 64
    for value in bundle.lines:
        if not isinstance(value, bytes) and bundle.rechained and isinstance(value, dict):
            value["h"] = before
        written.append(value if isinstance(value, bytes) else dump(value))
        before = leaf_hash(written[-1]).hex()
    root = bundle.root or to_base64(root_of(map(leaf_hash, written)))
    origin = bundle.origin or key.name
    text = f"{origin}\n{bundle.size or len(written)}\n{root}\n{bundle.more}"
    if bundle.note is not None:
        bundle.head["checkpoint"] = bundle.note(text)
    elif bundle.head.get("checkpoint") is not None:
        bundle.head["checkpoint"] = signed(text, key, signer)
    return joined(bundle, written)


def joined(bundle: Bundle, written: Lines) -> bytes:
    """Answer the file of a header, of lines that are written, and of texts."""
    head = bundle.raw_head(dump(bundle.head))
    texts = [one if isinstance(one, bytes) else dump(one) for one in bundle.texts]
    return bundle.start + bundle.ending.join([head, *written, *texts, b""])


def signed(text: str, key: VerifierKey, signer: FixedKey) -> str:
    """Answer a text under a signature, whatever the text is."""
    signature = to_base64(key.key_id + signer.sign(text.encode()))
    return f"{text}\n— {key.name} {signature}\n"


def signature_line(text: str, key: VerifierKey, signer: FixedKey) -> str:
    """Answer the line of a signature alone."""
    return signed(text, key, signer).rpartition("\n\n")[2]


Forgery = Callable[[Bundle, VerifierKey, FixedKey], None]
FORGERIES: Registry[Forgery] = Registry()
SOUND = FORGERIES.sound
"""Those that look odd and are sound by the format."""
forgery = FORGERIES.named


def simple(name: str, change: Callable[[Bundle], object], *, sound: bool = False) -> None:
    """Name a forgery that needs no key of its own."""
    forgery(name, sound=sound)(lambda bundle, key, signer: change(bundle) and None)


# ── the header ───────────────────────────────────────────────────────────────────────────────────


def _raw(old: bytes, new: bytes) -> Callable[[Bundle], object]:
    def change(bundle: Bundle) -> None:
        bundle.raw_head = lambda data: data.replace(old, new, 1)

    return change


def _spelled(spelling: bytes) -> Callable[[Bundle], object]:
    """Write the version in another way; `1` in a spelling stands for it."""

    def change(bundle: Bundle) -> None:
        version = str(bundle.head["version"]).encode()
        old, made = b'"version":%b,' % version, spelling.replace(b"1", version)
        bundle.raw_head = lambda data: data.replace(old, made, 1)

    return change


simple("header: a key twice", _spelled(b'"version":1,"version":1,'))
simple("header: a key twice, the last wins", _spelled(b'"version":0,"version":1,'))
simple("header: white space", _spelled(b'"version": 1,'))
simple("header: a number with a point", _spelled(b'"version":1.0,'))
simple("header: no object", _raw(b'{"checkpoint"', b'[{"checkpoint"'))
simple("header: true for 1", lambda b: b.head.update(version=True))
simple("header: version as a text", lambda b: b.head.update(version=str(b.head["version"])))
simple("header: version 3", lambda b: b.head.update(version=3))
simple("header: version of the other", lambda b: b.head.update(version=3 - b.head["version"]))
simple("header: version 0", lambda b: b.head.update(version=0))
simple("header: an unknown key", lambda b: b.head.update(more=1))
simple("header: without project", lambda b: b.head.pop("project"))
simple("header: project of another sort", lambda b: b.head.update(project=1))
simple("header: empty project", lambda b: b.head.update(project=""))
simple("header: another project", lambda b: b.head.update(project="other"))
simple("header: unknown format", lambda b: b.head.update(format="counterpoint-other"))
simple("header: format of another sort", lambda b: b.head.update(format=["counterpoint-bundle"]))
simple("header: no checkpoint", lambda b: b.head.update(checkpoint=None))
simple(
    "header: key without its base64", lambda b: b.head.update(vkey=b.head["vkey"].rsplit("+", 1)[0])
)
simple("header: key with capital digits", lambda b: b.head.update(vkey=_capital(b.head["vkey"])))
simple("header: key of another sort of key", lambda b: b.head.update(vkey=_sorted(b.head["vkey"])))


def _capital(vkey: str) -> str:
    name, digits, rest = vkey.split("+", 2)
    return f"{name}+{digits.upper()}+{rest}"


def _sorted(vkey: str) -> str:
    name, _, rest = vkey.split("+", 2)
    public = b"\x02" + base64.b64decode(rest)[1:]
    digits = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4].hex()
    return f"{name}+{digits}+{to_base64(public)}"


# ── the checkpoint ───────────────────────────────────────────────────────────────────────────────

for _name, _changed in {
    "another origin": {"origin": "counterpoint/other"},
    "origin of a session": {"origin": "counterpoint/demo/ses"},
    "size 0": {"size": "0"},
    "size with a zero before it": {"size": "0999"},
    "negative size": {"size": "-1"},
    "size with a sign": {"size": "+3"},
    "size in other digits": {"size": "٣"},
    "size beyond all": {"size": "9" * 19},
    "size of twenty digits": {"size": "9" * 20},
    "one entry too few": {"size": "1"},
    "another root": {"root": to_base64(b"\0" * 32)},
    "root too short": {"root": to_base64(b"\0" * 31)},
    "root in no base64": {"root": "*" * 44},
    "an empty line more": {"more": "\n"},
    "a tab": {"more": "a\tb\n"},
    "a carriage return": {"more": "a\r\n"},
    "a letter of the other control characters": {"more": "a\x7fb\u0085\n"},
}.items():
    simple(
        f"checkpoint: {_name}",
        lambda bundle, changed=_changed: [setattr(bundle, *one) for one in changed.items()],
        sound=_name.startswith("a letter"),
    )
simple("checkpoint: a line more", lambda b: setattr(b, "more", "more\n"), sound=True)
simple("checkpoint: two lines more", lambda b: setattr(b, "more", "one\ntwo\n"), sound=True)


def _noted(
    name: str, make: Callable[[str, VerifierKey, FixedKey], str], *, sound: bool = False
) -> None:
    def change(bundle: Bundle, key: VerifierKey, signer: FixedKey) -> None:
        bundle.note = lambda text: make(text, key, signer)

    forgery(f"note: {name}", sound=sound)(change)


_OTHER = FixedKey(b"o" * 32)
_OTHERS = VerifierKey(name="other", public_key=_OTHER.public_key)
_noted("unsigned", lambda text, key, signer: f"{text}\n")
_noted("signed by somebody else", lambda text, key, signer: signed(text, _OTHERS, _OTHER))
_noted(
    "signed by another in our name",
    lambda text, key, signer: signed(
        text, VerifierKey(name=key.name, public_key=_OTHER.public_key), _OTHER
    ),
)
_noted(
    "signed by both",
    lambda text, key, signer: signed(text, key, signer) + signature_line(text, _OTHERS, _OTHER),
    sound=True,
)
_noted(
    "signed twice",
    lambda text, key, signer: signed(text, key, signer) + signature_line(text, key, signer),
    sound=True,
)
_noted(
    "signed right and wrong",
    lambda text, key, signer: signed(text, key, signer) + signature_line(text + "x\n", key, signer),
)
_noted(
    "signed wrong and right",
    lambda text, key, signer: (
        signed(text, key, signer).rpartition("\n\n")[0]
        + "\n\n"
        + signature_line(text + "x\n", key, signer)
        + signature_line(text, key, signer)
    ),
)
_noted(
    "a hundred signatures",
    lambda text, key, signer: (
        signed(text, key, signer) + signature_line(text, _OTHERS, _OTHER) * 99
    ),
    sound=True,
)
_noted(
    "a signature over a hundred",
    lambda text, key, signer: (
        signed(text, key, signer) + signature_line(text, _OTHERS, _OTHER) * 100
    ),
)
_noted("without its last line feed", lambda text, key, signer: signed(text, key, signer)[:-1])
_noted("a line feed more", lambda text, key, signer: signed(text, key, signer) + "\n")
_noted("a line feed before", lambda text, key, signer: "\n" + signed(text, key, signer))
_noted(
    "a hyphen for the dash", lambda text, key, signer: signed(text, key, signer).replace("— ", "- ")
)
_noted("two spaces", lambda text, key, signer: signed(text, key, signer).replace("— ", "—  "))
_noted(
    "base64 without its padding",
    lambda text, key, signer: (
        signed(text, key, signer).replace("=\n", "\n")
        if "=\n" in signed(text, key, signer).rpartition("\n\n")[2]
        else signed(text, key, signer)[:-2] + "\n"
    ),
)
_noted(
    "base64 in another spelling",
    lambda text, key, signer: (
        signed(text, _OTHERS, _OTHER).rpartition("\n\n")[0]
        + "\n\n"
        + signature_line(text, key, signer)
        + "— other AAAAAAF=\n"
    ),
)
_noted(
    "an empty signature beside",
    lambda text, key, signer: signed(text, key, signer) + "— other AAAAAA==\n",
)
_noted(
    "a signature of one byte beside",
    lambda text, key, signer: signed(text, key, signer) + "— other AAAAAAA=\n",
    sound=True,
)
_noted("no base64 beside", lambda text, key, signer: signed(text, key, signer) + "— other ****\n")
_noted(
    "a name with a plus beside",
    lambda text, key, signer: signed(text, key, signer) + "— oth+er AAAAAAA=\n",
)
_noted(
    "a name with a space beside",
    lambda text, key, signer: signed(text, key, signer) + "— oth er AAAAAAA=\n",
)
_noted(
    "a name with another space beside",
    lambda text, key, signer: signed(text, key, signer) + "— oth\u00a0er AAAAAAA=\n",
)
_noted("no name beside", lambda text, key, signer: signed(text, key, signer) + "—  AAAAAAA=\n")
_noted(
    "our name with a short signature beside",
    lambda text, key, signer: (
        signed(text, key, signer) + f"— {key.name} {to_base64(key.key_id + b'x')}\n"
    ),
)
_noted("nothing", lambda text, key, signer: "")
_noted("line feeds", lambda text, key, signer: "\n\n\n")
_noted(
    "lines ended as on Windows",
    lambda text, key, signer: signed(text, key, signer).replace("\n", "\r\n"),
)
_noted(
    "line ends as on Windows, signed",
    lambda text, key, signer: signed(text.replace("\n", "\r\n"), key, signer),
)

# ── the file ─────────────────────────────────────────────────────────────────────────────────────

simple("file: lines ended as on Windows", lambda b: setattr(b, "ending", b"\r\n"))
simple("file: a mark at its start", lambda b: setattr(b, "start", b"\xef\xbb\xbf"))
simple("file: an empty line first", lambda b: setattr(b, "start", b"\n"))
simple("file: an empty line last", lambda b: b.texts.append(b""))
simple("file: an empty line between", lambda b: b.texts.insert(0, b""))
simple("file: no UTF-8", lambda b: b.texts.append(b'{"body":"\xff","text":"x"}'))
simple("file: a NUL at the end", lambda b: b.texts.append(b"\0"))
