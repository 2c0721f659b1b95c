"""Signatures of writers that somebody forged who has every key but that of the writer, or that one too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey, from_base64, to_base64
from counterpoint.core.ledger.writers.signature import (
    Range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.access import PROGRAM
from fakes.forgeries import Bundle, signature_line, signed
from fakes.registry import Registry
from fakes.studio import FixedKey
from fakes.tampering import dump

ADA, EVE = "cn_agent_ada", "cn_agent_eve"
STRANGER = FixedKey(b"s" * 32)


@dataclass
class Signed:
    """A bundle with signatures of writers, taken apart, and the keys to forge more."""

    bundle: Bundle
    key: VerifierKey
    signer: FixedKey

    @property
    def lines(self) -> list[Any]:
        """The lines of signatures."""
        return [one for one in self.bundle.texts if "sig" in one]

    def line(self, writer: str) -> Any:
        """Answer the first line of a writer."""
        return next(one for one in self.lines if one["sig"].split("\n")[2] == writer)

    def places(self, writer: str) -> list[int]:
        """Answer where the entries of a writer are."""
        lines = self.bundle.lines
        return [one["n"] for one in lines if one["w"].get("i", {"i": PROGRAM})["i"] == writer]

    def leaves(self, places: list[int]) -> list[bytes]:
        """Answer the leaf hashes of entries."""
        return [leaf_hash(dump(self.bundle.lines[place])) for place in places]

    def of(self, writer: str) -> FixedKey:
        """Answer the key of a writer."""
        return self.signer.derived(f"counterpoint/writer/v1\n{writer}")

    def over(
        self, writer: str, places: list[int], key: FixedKey | None = None, **change: Any
    ) -> Any:
        """Answer a line that a writer signed over some places, with something else in it."""
        used = key or self.of(writer)
        told: dict[str, Any] = {
            "first": places[0],
            "last": places[-1],
            "count": len(places),
            "root": root_of(self.leaves(places)),
        } | change
        named = writer_key(self.key.name, writer, used.public_key)
        return {
            "delegation": self.delegation(writer, used),
            "n": places[0],
            "sig": seal_range(named, self.key.name, writer, Range(**told), used.sign),
        }

    def delegation(self, writer: str, key: FixedKey, by: FixedKey | None = None) -> str:
        """Answer what names the key of a writer."""
        signer = by or self.signer
        named = VerifierKey(name=self.key.name, public_key=signer.public_key)
        return seal_delegation(named, writer, key.public_key, signer.sign)

    def retold(self, writer: str, change: Callable[[str], str]) -> str:
        """Answer the note of a writer with another text that he signed."""
        used = self.of(writer)
        text = self.line(writer)["sig"].rpartition("\n\n")[0] + "\n"
        return signed(change(text), writer_key(self.key.name, writer, used.public_key), used)

    def renamed(self, writer: str, change: Callable[[str], str]) -> str:
        """Answer the delegation of a writer with another text that the ledger's key signed."""
        text = self.line(writer)["delegation"].rpartition("\n\n")[0] + "\n"
        return signed(change(text), self.key, self.signer)


Forgery = Callable[[Signed], object]
FORGERIES: Registry[Forgery] = Registry()
SOUND = FORGERIES.sound
"""Those after which nothing is wrong, though something may not be signed."""
kind = FORGERIES.named


def _edit(name: str, change: Callable[[Signed, Any], object], *, sound: bool = False) -> None:
    kind(name, sound=sound)(lambda it: change(it, it.line(ADA)))


def _shorter(text: str) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:6], to_base64(bytes(31)), ""])


def _put(name: str, made: Callable[[Signed], dict[str, Any]], *, sound: bool = False) -> None:
    kind(name, sound=sound)(lambda it: it.line(ADA).update(made(it)))


_edit("unchanged", lambda it, line: None, sound=True)
_edit("an unknown key", lambda it, line: line.update(more=1))
_edit("without its place", lambda it, line: line.pop("n"))
_edit("a place as a text", lambda it, line: line.update(n=str(line["n"])))
_edit("true for a place", lambda it, line: line.update(n=True))
_edit("a place below zero", lambda it, line: line.update(n=-1))
_edit("another place", lambda it, line: line.update(n=line["n"] + 1))
_edit("no delegation", lambda it, line: line.update(delegation=None))
_edit("an empty delegation", lambda it, line: line.update(delegation=""))
_edit("no note", lambda it, line: line.update(sig=None))
_edit("a note without a text", lambda it, line: line.update(sig="\n"))
_edit("a delegation for a note", lambda it, line: line.update(sig=line["delegation"]))
_edit("a note for a delegation", lambda it, line: line.update(delegation=line["sig"]))
_edit("the note of another writer", lambda it, line: line.update(sig=it.line(EVE)["sig"]))
_edit(
    "the delegation of another writer",
    lambda it, line: line.update(delegation=it.line(EVE)["delegation"]),
)
_put(
    "a key that the writer itself named",
    lambda it: {"delegation": it.delegation(ADA, it.of(ADA), by=it.of(ADA))},
)
_put(
    "a key that a stranger named",
    lambda it: {"delegation": it.delegation(ADA, it.of(ADA), STRANGER)},
)
_put(
    "a key of a stranger, named by the ledger's",
    lambda it: it.over(ADA, it.places(ADA), STRANGER),
    sound=True,
)
_put(
    "a key of a stranger, and the delegation of before",
    lambda it: {"sig": it.over(ADA, it.places(ADA), STRANGER)["sig"]},
)
_put(
    "the ledger's key in place of the writer's",
    lambda it: {"sig": it.over(ADA, it.places(ADA), it.signer)["sig"]},
)
_put("a root that is too short", lambda it: {"sig": it.retold(ADA, _shorter)})
_put("one entry more", lambda it: it.over(ADA, it.places(ADA), count=len(it.places(ADA)) + 1))
_put("one entry less", lambda it: it.over(ADA, it.places(ADA), count=len(it.places(ADA)) - 1))
_put("another root", lambda it: it.over(ADA, it.places(ADA), root=bytes(32)))
_put(
    "the root of others",
    lambda it: it.over(ADA, it.places(ADA), root=root_of(it.leaves(it.places(EVE)))),
)
_put("beyond the end", lambda it: it.over(ADA, it.places(ADA), last=len(it.bundle.lines)))
_put(
    "to an entry of somebody else",
    lambda it: it.over(ADA, it.places(ADA), last=it.places(ADA)[-1] + 1),
)
_put(
    "from an entry of somebody else",
    lambda it: (
        it.over(ADA, it.places(ADA), first=it.places(ADA)[0] - 1) | {"n": it.places(ADA)[0] - 1}
    ),
)
_put(
    "the last before the first", lambda it: it.over(ADA, it.places(ADA), last=it.places(ADA)[0] - 1)
)
_put("one entry left out", lambda it: it.over(ADA, it.places(ADA)[:1] + it.places(ADA)[2:]))
_put("another's entries too", lambda it: it.over(ADA, sorted(it.places(ADA) + it.places(EVE))))
_put("the entries of another writer", lambda it: it.over(ADA, it.places(EVE)))
_put("only the first entries", lambda it: it.over(ADA, it.places(ADA)[:2]), sound=True)
for _name, _old, _new in (
    ("a line more", "", "more\n"),
    ("an empty line more", "", "\n"),
    ("another sort", "writer/v1", "writer/v2"),
    ("a leading zero", "\n3\n", "\n03\n"),
    ("a sign before a number", "\n3\n", "\n+3\n"),
    ("another ledger", "counterpoint/demo", "counterpoint/other"),
    ("another writer in the text", ADA, EVE),
    ("capital letters", ADA, ADA.upper()),
):
    _put(
        f"note: {_name}",
        lambda it, old=_old, new=_new: {
            "sig": it.retold(ADA, lambda text: text.replace(old, new, 1) if old else text + new)
        },
    )
for _name, _old, _new in (
    ("a line more", "", "more\n"),
    ("another sort", "delegation/v1", "delegation/v2"),
    ("another ledger", "counterpoint/demo", "counterpoint/other"),
    ("another writer", ADA, EVE),
    ("a key in another spelling", "=\n", "\n"),
):
    _put(
        f"delegation: {_name}",
        lambda it, old=_old, new=_new: {
            "delegation": it.renamed(
                ADA, lambda text: text.replace(old, new, 1) if old else text + new
            )
        },
    )


@kind("a key that is too short")
def short(it: Signed) -> None:
    """31 bytes are no Ed25519 key."""
    public = it.line(ADA)["delegation"].split("\n")[3]
    assert len(from_base64(public)) == 32
    it.line(ADA)["delegation"] = it.renamed(ADA, lambda text: text.replace(public, public[:40]))


@kind("of somebody who wrote nothing")
def nobody(it: Signed) -> None:
    """A writer without an entry signs some."""
    _add(it, it.over("cn_nobody", [3]))


@kind("twice")
def twice(it: Signed) -> None:
    """One place, one signature."""
    it.bundle.texts.insert(0, dict(it.bundle.texts[0]))


@kind("in another order")
def order(it: Signed) -> None:
    """They come by their places."""
    it.bundle.texts[0], it.bundle.texts[1] = it.bundle.texts[1], it.bundle.texts[0]


@kind("behind a text")
def behind(it: Signed) -> None:
    """Signatures come first."""
    it.bundle.texts.append(it.bundle.texts.pop(0))


@kind("two over one entry")
def overlapping(it: Signed) -> None:
    """Each of them right by itself."""
    places = it.places(ADA)
    it.line(ADA).update(it.over(ADA, places[:2]))
    _add(it, it.over(ADA, places[1:]))


@kind("in two parts", sound=True)
def parts(it: Signed) -> None:
    """As after a restart of the server."""
    places = it.places(ADA)
    it.line(ADA).update(it.over(ADA, places[:1]))
    _add(it, it.over(ADA, places[1:]))


@kind("none at all", sound=True)
def unsigned(it: Signed) -> None:
    """Nothing is signed, and nothing is wrong."""
    it.bundle.texts = [one for one in it.bundle.texts if "sig" not in one]


@kind("an entry in the writer's name at the end", sound=True)
def appended(it: Signed) -> None:
    """It is not signed by the writer; the ledger's key has signed it as it signs all."""
    last = it.bundle.lines[-1]
    it.bundle.lines.append(
        {**last, "n": last["n"] + 1, "w": it.bundle.lines[it.places(ADA)[0]]["w"]}
    )
    it.bundle.lines[-1].pop("r", None)


@kind("an entry in nobody's name at the end", sound=True)
def of_nobody(it: Signed) -> None:
    """It is told as not signed as well: the program signs what it wrote for nobody who is attested."""
    appended(it)
    it.bundle.lines[-1]["w"] = {"k": "agent", "n": "eve"}


@kind("an entry in nobody's name between those of the program")
def between(it: Signed) -> None:
    """It is none of those that the program signed."""
    it.bundle.lines[it.places(EVE)[0]]["w"].pop("i")
    it.line(EVE).update(it.over(EVE, it.places(EVE)))


@kind("the program's entries put down to a writer")
def attributed(it: Signed) -> None:
    """What nobody was attested for becomes somebody's, who did not sign it."""
    it.bundle.lines[it.places(PROGRAM)[-1]]["w"]["i"] = {"i": ADA, "k": "connection"}


@kind("an entry in the writer's name between its own")
def slipped(it: Signed) -> None:
    """Somebody else's entry is put down to the writer, with all hashed anew."""
    first, last = it.places(ADA)[0], it.places(ADA)[-1]
    other = next(one for one in it.places(EVE) if first < one < last)
    it.bundle.lines[other]["w"]["i"] = it.bundle.lines[first]["w"]["i"]


@kind("an entry that is not put down to the writer any more")
def taken(it: Signed) -> None:
    """Nobody is attested for it now."""
    it.bundle.lines[it.places(ADA)[1]]["w"].pop("i")


@kind("an entry of the writer that says something else")
def changed(it: Signed) -> None:
    """The facts are others, with all hashed anew."""
    it.bundle.lines[it.places(ADA)[1]]["f"] = {"said": "something else"}


def _named_next(it: Signed) -> list[int]:
    """Let an epoch name another key, and the writer write once more; answer where its entries are then."""
    epoch = {"t": "epochs", "k": {"number": 2}, "v": {"public_key": STRANGER.public_key.hex()}}
    it.bundle.more = "epoch 2\n"
    last, ada = it.bundle.lines[-1], it.bundle.lines[it.places(ADA)[0]]
    plain = {"p": last["p"], "t": last["t"], "v": 2}
    for told in (
        {"a": "epoch.opened", "r": [epoch], "w": {"k": "human", "n": "pat"}},
        {"a": ada["a"], "w": ada["w"]},
    ):
        last = it.bundle.lines[-1]
        it.bundle.lines.append(
            plain | told | {"n": last["n"] + 1, "h": leaf_hash(dump(last)).hex()}
        )
    return it.places(ADA)


def _delegated(name: str, start: int, end: int | None, by: FixedKey, *, sound: bool) -> None:
    """Name a forgery in which a key of the ledger, before or after the epoch, names the writer's."""

    def change(it: Signed) -> None:
        places = _named_next(it)[start:end]
        line = it.over(ADA, places) | {"delegation": it.delegation(ADA, it.of(ADA), by=by)}
        it.bundle.texts.remove(it.line(ADA))
        _add(it, line)

    kind(f"epoch: {name}", sound=sound)(change)


_delegated("the key before it, up to it", 0, -1, FixedKey(), sound=True)
_delegated("the key before it, over what comes after", 0, None, FixedKey(), sound=False)
_delegated("the key before it, only what comes after", -1, None, FixedKey(), sound=False)
_delegated("the next key, up to it", 0, -1, STRANGER, sound=True)
_delegated("the next key, on both sides", 0, None, STRANGER, sound=True)
_delegated("the next key, after it", -1, None, STRANGER, sound=True)


@kind("cosigned", sound=True)
def cosigned(it: Signed) -> None:
    """A signature of a key that nobody knows counts neither for nor against."""
    text = it.line(ADA)["sig"].rpartition("\n\n")[0] + "\n"
    stranger = VerifierKey(name="elsewhere", public_key=STRANGER.public_key)
    it.line(ADA)["sig"] += signature_line(text, stranger, STRANGER)


@kind("signed twice, once wrongly")
def once_wrong(it: Signed) -> None:
    """Every signature of the key must be right."""
    used = it.of(ADA)
    named = writer_key(it.key.name, ADA, used.public_key)
    it.line(ADA)["sig"] += signature_line("something else\n", named, used)


def _add(it: Signed, line: dict[str, Any]) -> None:
    texts = it.bundle.texts
    place = next(
        (at for at, one in enumerate(texts) if "sig" not in one or one["n"] > line["n"]), len(texts)
    )
    texts.insert(place, line)
