#!/usr/bin/env python3
"""A second verifier of exported bundles, small enough to be read before it is believed.

    python3 verify.py BUNDLE [--key KEY]

It needs Python 3.9 or later and nothing else, and shares no code with the product. KEY is the
verifier key of the project (NAME+ID+BASE64), obtained in another way than with the bundle; without
it a bundle only shows that it agrees with itself. Exit code 0: it holds; 1: it does not; 2: no bundle.

A bundle holds if and only if

 1  it is lines of canonical JSON (RFC 8785: sorted keys, no white space, integers below 2^53 only),
    each ended by a line feed; the first is the header, with KEY as its `vkey`;
 2  its checkpoint is a signed note: text, empty line, `— NAME BASE64(4 bytes of key id, signature)`;
    the text is origin, size and base64 of the root; Ed25519 (RFC 8032) over the text;
 3  as many lines as the size follow; the tree over them has that root: leaf SHA-256(0x00 || line),
    node SHA-256(0x01 || left || right), split at the largest power of two below the size (RFC 6962);
 4a format counterpoint-bundle, origin NAME: each line is an entry of the project: `n` counts from 0,
    `h` is the leaf hash of the entry before (zeros in the first), `t` never falls. In `r`, a row of
    `thoughts` comes with its record and follows its task's chain; a row of `seals` fits the thoughts of
    its session and its checkpoint, of origin NAME/SESSION; no later entry writes in that session;
    `version` is 2. Between entries and texts stand signatures of writers: `delegation`, `n`, `sig`, by `n`.
    The writer's key is named by the ledger's, and signs first and last place, number and root of all
    entries between whose principal it is, `program` where there is none. The ledger's key at a place is
    the one that its rows named last, else `vkey`: it signs seals there, and it or a later one names what
    signs up to there;
 4b format counterpoint-session, origin NAME/SESSION: each line is a thought of that session (ten
    keys) and follows its task's chain, in which others may stand between. `ledger` has a checkpoint
    of origin NAME and entries with paths to its root; the first entry writes this very seal;
 4d after `signers.changed`, as many people as its `threshold` says have signed each act on policies, keys and
    epochs: one makes a proposal, others sign it, and the last one does what it says (docs/ledger-format.md);
4c the last entry `quorum.changed` names witnesses: as many of their keys as its `quorum` says have
    cosigned the checkpoint of 2, by lines of a key of the type 4 (C2SP tlog-cosignature) in the same note;
5  the others are texts with salt and commitment, SHA-256(0x02 || salt || text), in its order; a `$text`
    of an entry (no other key begins with `$`) or `content` of a thought has one, or it was redacted.
"""

import base64
import datetime as dt
import hashlib
import json
import re
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path
from unicodedata import normalize

KEYS = "agent content id previous sequence session task timestamp type version"
TEXT = re.compile(rb'\{"\$text":"([0-9a-f]{64})"\}')
DECIDED = (
    "digest epoch gone holder key moved owner policy reads record row scopes storage subject submission token tokens"
    " waived quorum witnesses threshold proposal proposed open_until"
)
PROPOSED = "epoch.opened key.enrolled key.revoked policy.changed quorum.changed reads.switched signers.changed"
STATEMENT = "act decision head key nonce project reason subject time version"
KEY = re.compile(rb'[{,]"\$([^"\\]|\\.)*":')  # a key that begins with $
dump = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
HEX, NAME, LARGEST = re.compile("[0-9a-f]{64}"), re.compile(r"[^\s+\x1c-\x1f]+"), 4_000_000_000
NUMBER = re.compile("0|[1-9][0-9]{0,18}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
ACTION = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
HEADS = {
    "counterpoint-bundle": "checkpoint format project version vkey",
    "counterpoint-session": "checkpoint format ledger project session version vkey",
}
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # field, order: Ed25519
D = -121665 * pow(121666, -1, P) % P
UTC = dt.timezone.utc  # noqa: UP017 - Python 3.9
FORMS = (LookupError, TypeError, AttributeError, ValueError, RecursionError, StopIteration)


class Broken(SystemExit):
    """Why a bundle does not hold; uncaught, it ends the program with code 1."""


def need(holds, why):
    if not holds:
        raise Broken(f"Broken: {why}.")


def digest(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def whole(text):
    need(re.fullmatch("-?[0-9]{1,16}", text) and abs(int(text)) < 2**53, "no small integer")
    return int(text)


def keyed(pairs):
    need(all(name.isascii() for name, _ in pairs), "a key that is not ASCII")
    return dict(pairs)


def is_number(value):  # true is no number
    return type(value) is int and value >= 0


def are_texts(*values):
    return all(isinstance(value, str) and value for value in values)


def is_hash(value):
    return isinstance(value, str) and HEX.fullmatch(value)


def is_time(value):
    if not (isinstance(value, str) and TIME.fullmatch(value)):
        return False
    return dt.datetime(*map(int, re.findall("[0-9]+", value)[:6]), tzinfo=UTC) and True


def has(value, needed, allowed=""):
    return isinstance(value, dict) and {*needed} <= {*value} <= {*needed, *allowed}


def load(data):
    value = json.loads(
        data.decode(),
        object_pairs_hook=keyed,
        parse_int=whole,
        parse_float=whole,
        parse_constant=whole,
    )
    need(isinstance(value, dict) and dump(value).encode() == data, "a line is not canonical JSON")
    need(not KEY.search(TEXT.sub(b"", data)), "a reference that is not to a text")
    return value


def root(leaves):
    level = list(leaves)
    while len(level) > 1:  # an odd one moves up as it is: the same as splitting from above
        ends = range(1, len(level), 2)
        level = [digest(b"\1", level[i - 1], level[i]) for i in ends] + level[len(ends) * 2 :]
    return level[0] if level else digest()


def climb(index, size, found, path):
    need(0 <= index < size and (size > 1) == bool(path), "a path of another length")
    if size == 1:
        return found
    k, sibling = 1 << (size - 1).bit_length() - 1, path[-1]
    if index < k:
        return digest(b"\1", climb(index, k, found, path[:-1]), sibling)
    return digest(b"\1", sibling, climb(index - k, size - k, found, path[:-1]))


def add(a, b):  # points as (X, Y, Z, T), RFC 8032, section 5.1.4
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number, point):
    found = (0, 1, 1, 0)
    while number:
        found = add(found, point) if number & 1 else found
        point, number = add(point, point), number >> 1
    return found


def point(data):  # RFC 8032, section 5.1.3
    y = int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    need(y < P and (x * x - square) % P == 0 and (x or data[31] < 128), "no point of the curve")
    x = x if x & 1 == data[31] >> 7 else P - x
    return (x, y, 1, x * y % P)


def is_signed(public, message, signature):  # RFC 8032, section 5.1.7
    if len(public) != 32 or len(signature) != 64:
        return False
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L
    a = times(s, point((4 * pow(5, -1, P) % P).to_bytes(32, "little")))
    b = add(point(r), times(k, point(public)))
    return s < L and all((a[i] * b[2] - b[i] * a[2]) % P == 0 for i in (0, 1))


Q, N = 2**256 - 2**224 + 2**192 + 2**96 - 1, 2**256 - 2**224 + 2**192  # field, order: P-256 (SEC 2)
N -= 0x4319055258E8617B0C46353D039CDAAF
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def plus(a, b):  # points of P-256, as (x, y); None is the neutral one
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0] and (a[1] + b[1]) % Q == 0:
        return None
    rise, run = (3 * a[0] ** 2 - 3, 2 * a[1]) if a == b else (b[1] - a[1], b[0] - a[0])
    slope = rise * pow(run, -1, Q)
    x = (slope * slope - a[0] - b[0]) % Q
    return (x, (slope * (a[0] - x) - a[1]) % Q)


def multiple(number, point):
    found = None
    while number:
        found = plus(found, point) if number & 1 else found
        point, number = plus(point, point), number >> 1
    return found


def is_ecdsa(encoded, message, r, s):  # FIPS 186-5, section 6.4.2
    x, y = int.from_bytes(encoded[1:33], "big"), int.from_bytes(encoded[33:], "big")
    on = max(x, y) < Q and (y * y - x * x * x + 3 * x - B) % Q == 0
    need(on and encoded[0] == 4 and len(encoded) == 65, "no point of the curve")
    if not (0 < r < N and 0 < s < N):
        return False
    e, w = int.from_bytes(digest(message), "big"), pow(s, -1, N)
    found = plus(multiple(e * w % N, G), multiple(r * w % N, (x, y)))
    return found is not None and found[0] % N == r


def is_rsa(e, n, message, signature, hashed):  # RFC 8017, section 8.2.2
    need(2048 <= n.bit_length() <= 16384 and 3 <= e < 2**64 and e % 2, "an RSA key of another size")
    size, mark = (n.bit_length() + 7) // 8, {"sha256": "0105000420", "sha512": "0305000440"}
    head = {"sha256": "3031", "sha512": "3051"}[hashed] + "300d06096086480165030402"
    tail = bytes.fromhex(head + mark[hashed]) + hashlib.new(hashed, message).digest()
    padded = b"\0\1" + b"\xff" * (size - len(tail) - 3) + b"\0" + tail
    number = int.from_bytes(signature, "big")
    return (
        len(signature) == size and number < n and pow(number, e, n).to_bytes(size, "big") == padded
    )


class Parts:  # bytes as RFC 4251, section 5, has them
    def __init__(self, data):
        self.rest = data

    def take(self, size):
        need(len(self.rest) >= size, "the bytes of a key or signature end early")
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    def string(self):
        return self.take(int.from_bytes(self.take(4), "big"))

    def number(self):
        data = self.string()
        found = int.from_bytes(data, "big")
        least = found.to_bytes(found.bit_length() // 8 + 1, "big") if found else b""
        need(data == least, "a number in another spelling")
        return found

    def end(self):
        need(not self.rest, "bytes after the end of a key or signature")


def string(data):
    return len(data).to_bytes(4, "big") + data


def is_by(blob, message, signature):  # a signature of a sort, by a public key of one
    key, made = Parts(blob), Parts(signature)
    sort, named = key.string().decode(), made.string().decode()
    plain = re.sub(r"^sk-(.*)@openssh\.com$", r"\1", sort)
    if plain == "ssh-ed25519":
        public, proof = key.string(), made.string()
    elif plain == "ecdsa-sha2-nistp256":
        need(key.string() == b"nistp256", "a key of two curves")
        public, proof = key.string(), Parts(made.string())
        proof = (proof.number(), proof.number(), proof.end())[:2]
    else:
        need(sort == "ssh-rsa", "a key of another sort")
        public, proof = (key.number(), key.number()), made.string()
    if plain != sort:
        flags = (application := key.string()) and made.take(1)
        need(flags[0] & 1, "nobody touched the key")
        message = digest(application) + flags + made.take(4) + digest(message)
    key.end(), made.end()
    if plain == "ssh-ed25519":
        return named == sort and is_signed(public, message, proof)
    if plain != sort or sort != "ssh-rsa":
        return named == sort and is_ecdsa(public, message, *proof)
    hashed = {"rsa-sha2-256": "sha256", "rsa-sha2-512": "sha512"}[named]
    return is_rsa(*public, message, proof, hashed)


def is_ssh_signed(public_key, message, signature):  # OpenSSH's PROTOCOL.sshsig
    blob, parts = raw(public_key.split(" ")[1]), Parts(raw(signature))
    need(parts.take(10) == b"SSHSIG\0\0\0\1", "no SSH signature")
    named, space, reserved, hashed, made = (parts.string() for _ in range(5))
    parts.end()
    need((named, space, reserved) == (blob, b"counterpoint", b""), "a signature of something else")
    need(hashed in (b"sha256", b"sha512"), "a signature with another hash")
    told = [space, reserved, hashed, hashlib.new(hashed.decode(), message).digest()]
    return is_by(blob, b"SSHSIG" + b"".join(map(string, told)), made)


def fingerprint(public_key):
    sort, encoded = public_key.split(" ")
    need(Parts(raw(encoded)).string() == sort.encode(), "a key of two sorts")
    return "SHA256:" + base64.b64encode(digest(raw(encoded))).decode().rstrip("=")


MOVES = "claims gates items transitions"
JUDGES = MOVES + " records submissions verdicts"
ACTS = {  # what people sign, and the tables that each writes
    **{a + b: JUDGES for a in ("change", "item", "phase") for b in (".approved", ".rejected")},
    "blocker.resolved": "items records",
    "claim.released": MOVES,
    "configuration.trusted": "projects",
    "epoch.opened": "epochs",
    "item.edited": MOVES,
    "key.enrolled": "keys",
    "key.recovered": "epochs keys",
    "key.revoked": "keys",
    "policy.changed": "projects",
    "repository.adopted": "attributes",
    "text.redacted": "erasures",
    "token.created": "tokens",
    "token.renewed": "tokens",
    "token.revoked": "tokens",
    "quorum.changed": "",
    "reads.switched": "attributes",
    **dict.fromkeys(
        ("signers.changed", "proposal.made", "proposal.signed", "proposal.withdrawn"), ""
    ),
}
TOGETHER = "epoch gone key owner policy quorum reads storage threshold witnesses"  # what several people decide


def check_act(entry):
    rows, facts = entry["r"], entry.get("f", {})
    tables = {one["t"] for one in rows} - {"confirmations"}
    need(tables <= {*ACTS[entry["a"]].split()}, "an act that writes what it does not")
    verdicts = [(one["k"].get("id"), one.get("v") or {}) for one in rows if one["t"] == "verdicts"]
    decision = {"approved": "approve", "rejected": "reject"}.get(entry["a"].split(".")[-1])
    told = (entry.get("s"), decision, facts.get("verdict"), facts.get("subject", ""))
    for name, row in verdicts:
        said = (row.get("item"), row.get("decision"), name, row.get("subject", ""))
        need(len(verdicts) == 1 and said == told, "another verdict than is told")


def check_person(entry, ring, leaves):  # ring: keys by id, those revoked, nonces, reasons by digest
    rows, facts, who = entry.get("r", ()), entry.get("f", {}), entry["w"].get("i", {})
    signs = [one for one in rows if one["t"] == "confirmations"]
    keys = [one for one in rows if one["t"] == "keys"]
    judged = [one for one in rows if one["t"] in ("epochs", "gates", "verdicts")]
    judged = [one.get("v") or one.get("c") or {} for one in judged]
    if who.get("k") != "person":
        judged = any(o.get("independence") == "person" or o.get("confirmed_by") for o in judged)
        need(not (signs or keys or judged), "something of a person that no person signed")
        return
    need(len(signs) == 1 and signs[0].get("v"), "a person without a confirmation")
    check_act(entry)
    made, signer = signs[0]["v"], who["i"]
    told = json.loads(made["statement"], parse_float=whole, parse_int=whole)
    need(" ".join(sorted(told)) == STATEMENT and dump(told) == made["statement"], "no statement")
    named = (told["act"], told["subject"], told["project"], told["key"], told["nonce"])
    shown = (entry["a"], entry.get("s", ""), entry["p"], signer, signs[0]["k"]["id"])
    need(named == shown and made["signed_by"] == signer, "a confirmation of something else")
    need(type(told["version"]) is int and told["version"] == 1, "a statement of another version")
    need(told["nonce"] not in ring["used"], "a confirmation that was used before")
    same = all(n in facts and dump(facts[n]) == dump(v) for n, v in told["decision"].items())
    need(same and {*told["decision"]} >= {*facts} & {*DECIDED.split()}, "a decision nobody signed")
    place, leaf = told["head"]["n"], told["head"]["leaf"]
    need(0 <= place < len(leaves) and leaves[place].hex() == leaf, "another ledger was signed")
    first = not ring["keys"] or entry["a"] == "key.recovered"
    first = [one["v"] for one in keys if one["k"]["id"] == signer and first]
    public = first[0]["public_key"] if first else ring["keys"].get(signer)
    need(public and signer not in ring["revoked"], "a key that is not in force")
    message = b"counterpoint/act/v1\n" + made["statement"].encode()
    need(is_ssh_signed(public, message, made["signature"]), "a person's signature does not fit")
    ring["used"].add(told["nonce"])
    for reference in made.get("reason", {}).values():
        ring["reasons"][reference] = told["reason"]
    check_keys(entry, keys, signer, ring)


def check_keys(entry, keys, signer, ring):
    rows, facts = entry["r"], entry.get("f", {})
    if entry["a"] not in ("key.enrolled", "key.recovered", "key.revoked"):
        need(not keys, "a key that the action does not tell of")
        return
    need(len(keys) == 1 and keys[0]["k"]["id"] == facts["key"], "another key than is told")
    name, row = facts["key"], keys[0].get("v") or {}
    if entry["a"] == "key.revoked":
        row = {"revoked_at": entry["t"], "revoked_by": signer}
        need(keys[0].get("c") == row and name in ring["keys"], "a key that is revoked wrongly")
        need(name not in ring["revoked"], "a key that is revoked twice")
        ring["revoked"].add(name)
        return
    need(name == fingerprint(row["public_key"]) and name not in ring["keys"], "no new key")
    by = signer
    if entry["a"] == "key.recovered":  # by an epoch that it opens itself
        opened = [(one["k"], one.get("v") or {}) for one in rows if one["t"] == "epochs"]
        need(len(opened) == 1 and name == signer, "a key that another one recovers")
        need(opened[0][0] == {"number": facts["epoch"]}, "a key of another epoch")
        need(not opened[0][1].get("confirmed_by"), "a recovery that says to be confirmed")
        by = f"epoch {facts['epoch']}"
    shown = (row.get("owner"), row.get("storage"), row.get("enrolled_by"))
    need(shown == (facts.get("owner"), facts.get("storage"), by), "a key enrolled wrongly")
    need(not row.get("revoked_at") and not row.get("revoked_by"), "a new key that is revoked")
    ring["keys"][name] = row["public_key"]


def check_credential(entry, ring):  # of `tokens`: ids and digests that there are
    rows, facts, who = entry.get("r", ()), entry.get("f", {}), entry["w"].get("i", {})
    rows = [one for one in rows if one["t"] == "tokens"]
    if not rows:
        return
    name = entry.get("s", "")
    need(len(rows) == 1 and rows[0]["k"] == {"id": name}, "a credential that is not the subject")
    person = who.get("k") == "person"
    if entry["a"] == "token.revoked":
        ended = rows[0].get("c") == {"revoked_at": entry["t"]}
        need(ended and ring["tokens"].get(name), "a credential that is changed")
        return
    if entry["a"] == "token.renewed":  # how long it lasts, and nothing else
        ends, told = (rows[0].get("c") or {}).get("expires_at"), ring["tokens"].get(name)
        changed = {*(rows[0].get("c") or {})} - {"expires_at"} or not isinstance(ends, str)
        need(told and not changed, "a credential that is changed")
        lasts, begins = facts.get("seconds"), dt.datetime.fromisoformat(entry["t"][:-1])
        need(type(lasts) is int and 0 <= lasts <= 10 * 366 * 86400, "no time that it lasts")
        until = (begins + dt.timedelta(seconds=lasts)).isoformat(timespec="milliseconds")
        need(ends == (f"{until}Z" if lasts else ""), "a credential that lasts another time")
    else:
        row = {"maker": "", "name": "", "scopes": [], "sha256": "", **(rows[0].get("v") or {})}
        need(entry["a"] == "token.created" and are_texts(row["sha256"]), "no new credential")
        texts = [isinstance(row[one], str) for one in ("maker", "name")]
        need(all(texts) and isinstance(row["scopes"], list), "a credential of another sort")
        there = {name, row["sha256"]} & ring["tokens"].keys()
        need(not there, "a credential that is there already")
        told = (row["name"], row["scopes"], row["sha256"])
        ring["tokens"] |= {name: told, told[2]: None}
        named = row["maker"] in ring["keys"] and not (person and who["i"] == row["maker"])
        need(not named, "a credential in a person's name")
    signed = told == (facts.get("name"), facts.get("scopes"), facts.get("digest"))
    need(signed or not person, "another credential than was signed")
    free = person or ring["keys"].keys() <= ring["revoked"]
    need(free or "maintain" not in told[1], "a credential that nobody signed")


def check_trust(entry, ring):  # once people have keys, one of them signs which commands are run
    rows, who = entry.get("r", ()), entry["w"].get("i", {})
    for row in (one.get("v") or one.get("c") or {} for one in rows if one["t"] == "projects"):
        if row.keys() & {"search_path", "trusted"}:
            said = entry["a"], row.get("trusted", "")
            signed = said == ("configuration.trusted", entry.get("f", {}).get("digest"))
            free = {*ring["keys"]} <= ring["revoked"]
            need(signed if who.get("k") == "person" else free, "a configuration nobody signed")


def check_quorum(entry, ring):  # once people have keys, one of them signs which witnesses count
    if entry["a"] != "quorum.changed":
        return
    person = entry["w"].get("i", {}).get("k") == "person"
    ring["ours"] = ring["ours"] or person
    free = {*ring["keys"]} <= ring["revoked"] and not ring["ours"]
    need(person or free, "witnesses nobody asked for")
    count, keys = entry["f"]["quorum"], [witness_key(one) for one in entry["f"]["witnesses"]]
    several = all(len({one[at] for one in keys}) == len(keys) for at in (0, 2))
    need(is_number(count) and count <= len(keys) <= 32 and several, "no quorum")
    need(bool(count) == bool(keys), "no quorum")
    ring["quorum"] = (count, keys)


def check_several(entry, joint):  # joint: threshold, owners by key, revoked, open and named ids
    facts, who = entry.get("f", {}), entry["w"].get("i", {})
    act, rows, key = entry["a"], entry.get("r", ()), who["i"] if who.get("k") == "person" else ""
    person = joint["owners"].get(key, "")
    several = act in ("quorum.changed", "reads.switched", "signers.changed") or any(
        map(is_guarded, rows)
    )
    if joint["threshold"] > 1 and several and act != "key.recovered":
        proposal = joint["open"].pop(facts["proposal"])
        decided = {name: value for name, value in facts.items() if name in TOGETHER.split()}
        proposed = dump({"act": act, "decision": decided}) == dump(proposal["proposed"])
        need(proposed and entry["t"] <= proposal["until"], "something else than was proposed")
        signers = {one for one, by in proposal["signed"].items() if by not in joint["revoked"]}
        need(key and len(signers | {person} - {""}) >= joint["threshold"], "too few people signed")
    if act == "signers.changed":
        count = facts["threshold"]
        need(key and is_number(count) and 1 <= count <= max(1, alive(joint)), "no such threshold")
        joint["threshold"] = count
    if act.startswith("proposal."):
        check_proposal(entry, facts, joint, key, person)
    if act in ("key.enrolled", "key.recovered", "key.revoked"):
        need(key and any(row["t"] == "keys" for row in rows), "a key that no person speaks of")
    if act in ("key.enrolled", "key.recovered"):
        folded = normalize("NFKC", normalize("NFKC", facts["owner"]).casefold())
        joint["owners"][facts["key"]] = " ".join(folded.split())
    if act == "key.revoked":
        joint["revoked"].add(facts["key"])
        need(joint["threshold"] <= max(1, alive(joint)), "too few people are left")
    if act == "key.recovered":
        joint.update(threshold=1, open={})


def alive(joint):
    return len({owner for key, owner in joint["owners"].items() if key not in joint["revoked"]})


def is_guarded(row):
    if row["t"] == "projects":  # a whole row says the default of what it leaves out
        return "c" not in row or "reviews" in row["c"]
    reads = row["t"] == "attributes" and row["k"] == {"item": "", "name": "reads"}
    return reads or row["t"] in ("epochs", "keys")


def check_proposal(entry, facts, joint, key, person):
    need(person, "a proposal of nobody")
    name, proposed, time = facts["proposal"], facts.get("proposed"), entry["t"]
    if entry["a"] == "proposal.made":
        need(are_texts(name) and name not in joint["named"], "a proposal twice")
        need(has(proposed, ["act", "decision"]) and is_time(facts["open_until"]), "no act")
        is_act = proposed["act"] in PROPOSED.split() and isinstance(proposed["decision"], dict)
        need(is_act, "no act")
        since, until = (dt.datetime.fromisoformat(one[:-1]) for one in (time, facts["open_until"]))
        need(since < until <= since + dt.timedelta(days=30), "a proposal that lasts too long")
        joint["named"].add(name)
        told = {"proposed": proposed, "until": facts["open_until"], "signed": {person: key}}
        joint["open"][name] = told
        return
    proposal = joint["open"][name]
    if entry["a"] == "proposal.withdrawn":
        need(person == next(iter(proposal["signed"])), "somebody else's proposal is withdrawn")
        del joint["open"][name]
        return
    need(entry["a"] == "proposal.signed" and time <= proposal["until"], "a proposal signed late")
    before = proposal["signed"].get(person)
    need(not before or before in joint["revoked"], "a person signs twice")
    need(dump(proposed) == dump(proposal["proposed"]), "another proposal than was made")
    proposal["signed"][person] = key


def witness_key(text):  # (name, id, public key), as C2SP's tlog-cosignature has it
    name, key_id, public = text.split("+", 2)
    need(NAME.fullmatch(name) and raw(public)[0] == 4 and len(raw(public)) == 33, "no witness key")
    need(digest(name.encode(), b"\n", raw(public))[:4].hex() == key_id, "no witness key")
    return (name, bytes.fromhex(key_id), raw(public)[1:])


def is_cosigned(note, key):
    text, made = note_parts(note)
    mine = [one[2] for one in made if one[:2] == key[:2]]
    return bool(mine) and all(is_seen(text, one, key[2]) for one in mine)


def is_seen(text, signature, public):
    time = int.from_bytes(signature[:8], "big")
    message = f"cosignature/v1\ntime {time}\n{text}\n".encode()
    try:
        return (
            len(signature) == 72 and 0 < time < 2**63 and is_signed(public, message, signature[8:])
        )
    except Broken:  # a key that is no point of the curve has signed nothing
        return False


def check_cosigned(note, count, keys):
    names = [key[0] for key in keys if is_cosigned(note, key)]
    asked = f"{count} of {', '.join(key[0] for key in keys)} must have signed"
    need(len(names) >= count, f"too few witnesses: {asked}, and {', '.join(names) or 'nobody'} has")
    return f" {asked}: {', '.join(names)} have." if count else ""


def check_epoch(entry, ring):  # once people have keys, one of them signs each that lets no key in
    opened = [one for one in entry.get("r", ()) if one["t"] == "epochs"]
    who = entry["w"].get("i", {})
    person = who.get("k") == "person"
    if not opened or ({*ring["keys"]} <= ring["revoked"] and not person):
        return
    need(person, "an epoch that no person signed")
    if entry["a"] != "key.recovered":
        shown = [(dump(one["k"].get("number")), one["v"].get("confirmed_by")) for one in opened]
        told = [(dump(entry["f"]["epoch"]), who["i"])]
        need(entry["a"] == "epoch.opened" and shown == told, "an epoch that was not signed with it")


def check_gate(entry, row, asked, person, is_made):
    columns = row.get("v") or row.get("c") or {}
    gate, status = (row["k"].get("item"), row["k"].get("name")), columns.get("status")
    was, mine = gate in asked["reviews"], person and entry.get("s") == gate[0]
    if "v" in row:
        asked["reviews"].pop(gate, None)
        asked["reviews"] |= {gate: columns.get("holds")} if is_review(columns) else {}
    if "v" in row or "status" in columns:
        holds = asked["reviews"].get(gate) == "finish" and status not in ("met", "waived")
        if holds:
            asked["closed"].setdefault(gate[0], set()).add(gate[1])
        else:
            asked["closed"].get(gate[0], set()).discard(gate[1])
    if not (person or asked["policy"] == "person"):
        return
    named = entry.get("f", {}).get("waived")
    named = isinstance(named, list) and gate[1] in named
    need(status != "waived" or (mine and named), "a gate that nobody signed was waived")
    if status == "met" and (was or is_review(columns)):
        approved = mine and entry["a"] in ("item.approved", "change.approved")
        need(approved or (is_made and not was), "a review that nobody signed")
    elif status != "waived":
        need(not (person and status == "met"), "a gate that is no review")
        need(not was or "v" not in row, "a review that is taken away")


# asked: last epoch, last that let a key in, policy, verdicts on own work, reviews, by item those closed
def check_asked(entry, asked):
    rows, facts = entry.get("r", ()), entry.get("f", {})
    asked["own"] += facts.get("independence") == "self"
    person = entry["w"].get("i", {}).get("k") == "person"
    made = [one["k"] for one in rows if one["t"] == "items" and one.get("v")]
    ended = [one for one in rows if one["t"] == "items"]
    ended = [one for one in ended if (one.get("v") or one.get("c") or {}).get("category") == "done"]
    known = asked["closed"].keys() | {one["k"].get("id") for one in ended if "c" in one}
    ended = {one["k"].get("id") for one in ended} & known
    for row in rows:
        columns = row.get("v") or row.get("c") or {}
        if row["t"] == "epochs":
            number, before = row["k"].get("number"), asked["recovered"]
            need(is_number(number) and number > asked["epoch"], "an epoch not above the last")
            need(row.get("v"), "an epoch that is changed")
            need(entry["a"] in ("epoch.opened", "key.recovered"), "an epoch that nobody tells of")
            told = type(facts.get("left")) is int and facts["left"] in (before, 0)
            need(told or before != asked["epoch"], "an epoch that leaves another than it says")
            asked["epoch"] = number
            asked["recovered"] = number if entry["a"] == "key.recovered" else before
        if row["t"] == "projects" and ("v" in row or "reviews" in columns):
            policy = columns.get("reviews", "")
            lower = policy == "self" or asked["policy"] == "person" != policy
            signed = person and facts.get("policy") == policy
            need(signed or not (lower or person), "a policy nobody signed")
            asked["policy"] = policy
        if row["t"] == "gates":
            check_gate(entry, row, asked, person, {"id": row["k"].get("item")} in made)
    asks = person or asked["policy"] == "person"
    need(not (asks and any(map(asked["closed"].get, ended))), "an end past a review")


def is_review(columns):
    return columns.get("kind") == "review"


def raw(text):
    found = base64.b64decode(text, validate=True)
    need(base64.b64encode(found).decode() == text, "base64 in another spelling")
    return found


def note_parts(note):  # the text of a signed note, and its signatures: name, key id, bytes
    text, _, signatures = note.rpartition("\n\n")
    need(text.strip("\n") and signatures.endswith("\n"), "no signed note")
    need(not re.search("[\0-\x09\x0b-\x1f]", note), "a note has control characters")
    need(signatures.count("\n") <= 100, "more than a hundred signatures")
    made = []
    for line in signatures[:-1].split("\n"):
        dash, name, data = line.split(" ")
        need(dash == "—" and NAME.fullmatch(name) and len(raw(data)) > 4, "no signature line")
        made.append((name, raw(data)[:4], raw(data)[4:]))
    return text, made


def signed_lines(note, *keys):  # the lines of a signed note, and which of the keys has signed it
    text, made = note_parts(note)
    for key in keys:
        mine = [one[2] for one in made if one[:2] == key[:2]]
        if mine and all(is_signed(key[2], text.encode() + b"\n", one) for one in mine):
            return text.split("\n"), key
    raise Broken("Broken: a note is not signed by the key, or a signature does not fit.")


def checkpoint(note, key, origin):
    lines, _ = signed_lines(note, key)
    need(lines[0] == origin, "a checkpoint of another log")
    need(all(lines) and NUMBER.fullmatch(lines[1]), "no checkpoint")
    need(int(lines[1]) < 2**63 and len(raw(lines[2])) == 32, "no size or root")
    return int(lines[1]), raw(lines[2])


def follow(thought, chains, gaps):  # chains: task -> its thoughts so far, as (thought, hash)
    need(are_texts(*(thought[one] for one in ("agent", "id", "task"))), "a thought's empty field")
    need(is_hash(thought["content"]) and is_hash(thought["previous"]), "a thought without a hash")
    need(is_number(thought["sequence"]) and type(thought["version"]) is int, "no number")
    session = thought["session"]
    need(is_time(thought["timestamp"]) and isinstance(session, str), "no time or session")
    need(thought["type"] in ("plan", "analysis", "decision", "reflection"), "no type of thoughts")
    chain = chains.setdefault(thought["task"], [])
    before, last = chain[-1] if chain else ({"sequence": -1, "timestamp": ""}, b"\0" * 32)
    need(" ".join(sorted(thought)) == KEYS and thought["version"] == 1, "no thought")
    if not gaps or thought["sequence"] <= before["sequence"] + 1:
        need(thought["sequence"] == before["sequence"] + 1, "a thought is missing or twice")
        need(thought["previous"] == last.hex(), "a chain of thoughts is broken")
    need(thought["timestamp"] >= before["timestamp"], "a thought is older than the one before")
    chain.append((thought, digest(b"\0", dump(thought).encode())))
    return chain[-1][1]


def check_seal(row, session, key):
    size, expected = checkpoint(row["checkpoint"], key, f"{key[0]}/{session}")
    need(is_number(row["size"]), "a seal without a size")
    need((row["size"], row["root"]) == (size, expected.hex()), "a seal is not as it was signed")


def check_form(entry):
    need(has(entry, "ahnptvw", "frs"), "a line is no entry")
    need(type(entry["v"]) is int and entry["v"] == 2 and is_number(entry["n"]), "no entry")
    need(are_texts(entry["p"], entry["a"]) and ACTION.fullmatch(entry["a"]), "no project or action")
    need(is_time(entry["t"]) and is_hash(entry["h"]), "no time or hash")
    need("s" not in entry or are_texts(entry["s"]), "no subject")
    need("f" not in entry or (isinstance(entry["f"], dict) and entry["f"]), "no facts")
    need("r" not in entry or (isinstance(entry["r"], list) and entry["r"]), "no rows")
    who = entry["w"]
    need(has(who, "kn", "psi") and who["k"] in ("agent", "human", "system"), "nobody acts")
    need(are_texts(*(who[one] for one in "npsk" if one in who)), "nobody acts")
    if "i" in who:
        need(has(who["i"], "ik") and are_texts(who["i"]["i"]), "no principal")
        need(who["i"]["k"] in ("person", "credential", "connection"), "no principal")
    for row in entry.get("r", ()):
        need(has(row, "kt", "vc") and len(row) == 3 and are_texts(row["t"]), "no row image")
        cells = {type(cell) for cell in row["k"].values()}
        need(cells <= {str, int}, "a key of another sort")
        columns = row["v"] if "v" in row else row["c"]
        need(isinstance(columns, dict) or (columns is None and "v" in row), "no columns")


def gone_by(entry):
    told = entry.get("f", {}).get("texts") if entry["a"] == "text.redacted" else ()
    return {one for one in told if isinstance(one, str)} if isinstance(told, list) else set()


def key_after(entry, key, first):  # the row of the project, once, and each epoch name the key
    rows, is_first = entry.get("r", ()), entry["a"] == "signer.named"
    form = [(row["t"], "v" in row, [*(row.get("c") or {})]) for row in rows if is_first]
    is_alone = form == [("projects", False, ["public_key"])] and "i" not in entry["w"]
    need(is_alone or not is_first, "the entry of the first key has another form")
    for row in rows:
        columns, table = row.get("v") or row.get("c") or {}, row["t"]
        public = columns.get("public_key")
        if table == "projects" and "public_key" in columns:
            may = is_hash(public) if is_first else entry["n"] == 0
            need(may and not first, "a first key is named as it must not be")
        if is_hash(public) and (table == "projects" or (table == "epochs" and row.get("v"))):
            key = named_key(key[0], bytes.fromhex(public))
            first.append(entry["n"] if is_first else 0)
    return key


def named_key(name, public):
    return (name, digest(name.encode(), b"\n\1", public)[:4], public)


def remark(acts, own, writers, signed, first):
    people = f" {acts} acts are signed by those who did them." if acts else ""
    people += f" {own} verdicts are of people on their own work." if own else ""
    left = {place for places, _, _ in writers.values() for place in places}
    left = sorted(left - signed - {0, *first})  # nobody can append the first, nor another first key
    where = ", ".join(map(str, left[:20])) + ", …" * (len(left) > 20)
    told = f" Not signed by their writers: {len(left)} entries ({where})." if left else ""
    return people + told


# writers: by each, its places and leaf hashes, and how many are signed
def check_writer(line, before, keys, writers, signed):
    one = load(line)
    need(has(one, ["delegation", "n", "sig"]) and is_number(one["n"]), "no signature of a writer")
    need(one["n"] > before, "a signature out of order")
    last = one["sig"].split("\n")[4]
    need(NUMBER.fullmatch(last), "no place")
    since = max((at for at, _ in keys if at <= int(last)), default=0)  # a key that was left is none
    named, (name, _, _) = signed_lines(one["delegation"], *(key for at, key in keys if at >= since))
    need(len(named) == 4 and named[:2] == ["counterpoint/delegation/v1", name], "no delegation")
    key = named_key(f"{name}/{named[2]}", raw(named[3]))
    told, _ = signed_lines(one["sig"], key)
    begin = ["counterpoint/writer/v1", name, named[2], str(one["n"])]
    need(len(told) == 7 and told[:4] == begin, "a signature of something else")
    all_places, all_leaves, done = writers.get(named[2], ([], [], 0))
    start, end = bisect_left(all_places, one["n"]), bisect_right(all_places, int(told[4]))
    places, leaves = all_places[start:end], all_leaves[start:end]
    need(places and (places[0], places[-1]) == (one["n"], int(told[4])), "no entry of this writer")
    need(start >= done, "two signatures over one entry")
    found = [str(len(places)), base64.b64encode(root(leaves)).decode()]
    need(found == told[5:], "the entries are not those that their writer signed")
    writers[named[2]] = (all_places, all_leaves, end)
    signed.update(places)
    return one["n"]


# a whole row leaves out what the entry tells
def check_rows(entry, chains, leaves, sealed, known, key):
    told = {"created_at": entry["t"], "agent": entry["w"]["n"], "session": entry["w"].get("s", "")}
    images = entry.get("r", ())
    rows = [(row["t"], row["k"], {**told, **(row.get("v") or {})}) for row in images]
    new = set()
    for (table, name, row), image in zip(rows, images):  # noqa: B905 - Python 3.9
        if table == "thoughts":
            need({*name} == {"record"} and image.get("v"), "a thought is changed")
            need(are_texts(name["record"]) and name["record"] not in known | new, "a thought twice")
            thought = {
                one: row.get(one, 0 if one in "sequence version" else "") for one in KEYS.split()
            }
            thought |= {"id": name["record"], "timestamp": row["created_at"]}
            leaf = follow(thought, chains, gaps=False)
            need(leaf.hex() == row["hash"], "another hash of a thought")
            leaves.setdefault(row["session"], []).append(leaf)
            record = {"kind": "thought", "item": row["task"], "session": row["session"]}
            record |= {"body": {"$text": row["content"]}, "created_at": row["created_at"]}
            places = [i for i, one in enumerate(rows) if one[0] == "records"]
            of = [i for i in places if rows[i][1].get("id") == name["record"]]
            need(len(of) == 1 and images[of[0]].get("v"), "a thought without one record")
            need(rows[of[0]][1] == {"id": name["record"]}, "a thought without a record")
            need(record.items() <= rows[of[0]][2].items(), "a thought with another record")
            new.add(name["record"])
        if table in ("sessions", "records", "thoughts"):
            columns = row if image.get("v") else image.get("c") or {}
            session = name.get("id") if table == "sessions" else columns.get("session", "")
            late = isinstance(session, str) and session in sealed
            need(not late, "something was written in a sealed session")
        if table == "records":
            need(name.get("id") not in known, "the record of a thought is changed")
    known |= new
    for (table, name, row), image in zip(rows, images):  # noqa: B905 - Python 3.9
        if table == "seals":
            need({*name} == {"session"} and image.get("v"), "a seal is changed")
            tree = leaves.get(name["session"])
            need(tree and name["session"] not in sealed, "a seal of nothing, or one twice")
            need((row["size"], row["root"]) == (len(tree), root(tree).hex()), "a seal of others")
            check_seal(row, name["session"], key)
            sealed.add(name["session"])


def check_texts(lines, wanted, gone):
    texts = [load(line) for line in lines]
    named = [digest(b"\2", bytes.fromhex(one["salt"]), one["body"].encode()).hex() for one in texts]
    need(named == [one["text"] for one in texts] == sorted({*named}), "a text was changed or moved")
    salts = [re.fullmatch("[0-9a-f]{32}", one["salt"]) and len(one) == 3 for one in texts]
    need(all(salts), "no text with a salt")
    need(wanted - gone <= {*named} <= wanted, "a text is missing, or nothing names it")
    return texts


def check_ledger(head, lines, key):
    size, expected = checkpoint(head["checkpoint"], key, key[0])
    before, time, leaves, wanted, gone = "0" * 64, "", [], set(), set()
    chains, trees, sealed, known, writers = {}, {}, set(), set(), {}
    present, keys, first, less = key, [], [], []  # the keys that sign from a place on, by it
    ring = {"keys": {}, "revoked": set(), "used": set(), "reasons": {}, "tokens": {}}
    ring |= {"quorum": (0, []), "ours": False}
    joint = {"threshold": 1, "owners": {}, "revoked": set(), "open": {}, "named": set()}
    asked = {"epoch": 1, "recovered": 0, "policy": "", "own": 0, "reviews": {}, "closed": {}}
    for place, line in enumerate(lines[:size]):
        entry = load(line)
        check_form(entry)
        need((entry["p"], entry["n"], entry["h"]) == (head["project"], place, before), "no chain")
        need(entry["t"] >= time, "an entry is older than the one before")
        named = {one.decode() for one in TEXT.findall(line)}
        wanted |= named
        gone = gone - named | gone_by(entry)
        present = key_after(entry, present, first)
        keys += [(place, present)] if not keys or keys[-1][1] != present else []
        check_rows(entry, chains, trees, sealed, known, present)
        check_asked(entry, asked)
        check_credential(entry, ring)
        check_trust(entry, ring)
        asked_before = joint["threshold"], *ring["quorum"]
        check_quorum(entry, ring)
        check_several(entry, joint)
        less += [place] * asks_less(asked_before, joint["threshold"], *ring["quorum"])
        check_epoch(entry, ring)
        check_person(entry, ring, leaves)
        leaves.append(digest(b"\0", line))
        who = entry["w"].get("i", {"i": "program", "k": ""})  # nobody: the program itself
        if who["k"] != "person":
            places, written, _ = writers.setdefault(who["i"], ([], [], 0))
            places.append(place)
            written.append(leaves[-1])
        before, time = leaves[-1].hex(), entry["t"]
    need((len(leaves), root(leaves)) == (size, expected), "another size or root than was signed")
    lines_of = head["checkpoint"].split("\n\n")[0].split("\n")
    told = [int(one[6:]) for one in lines_of if re.fullmatch("epoch [1-9][0-9]{0,8}", one)]
    need(asked["recovered"] <= (told or [1])[0], "a key was recovered in an unsigned epoch")
    rest, before, signed = lines[size:], -1, set()
    while rest and rest[0].startswith(b'{"delegation":'):
        before = check_writer(rest.pop(0), before, keys, writers, signed)
    for text in check_texts(rest, wanted, gone):
        if text["text"] in ring["reasons"]:
            kept = json.loads(text["body"])
            salt, reason = bytes.fromhex(kept["salt"]), kept["text"].encode()
            committed = digest(b"\2", salt, reason).hex()
            need(len(salt) == 16 and ring["reasons"][text["text"]] == committed, "another reason")
    told = check_cosigned(head["checkpoint"], *ring["quorum"])
    fewer = f" Fewer signatures were asked for from entry {', '.join(map(str, less))} on."
    told += remark(len(ring["used"]), asked["own"], writers, signed, first[:1])
    return told + fewer * bool(less)


def asks_less(before, people, count, keys):  # of people; or fewer of the same witnesses do
    fresh = {one[2] for one in keys} - {one[2] for one in before[2]}
    return people < before[0] or 0 < before[1] > count - len(fresh)


def check_session(head, lines, key):
    size, expected = checkpoint(head["checkpoint"], key, f"{key[0]}/{head['session']}")
    length, summit = checkpoint(head["ledger"]["checkpoint"], key, key[0])
    told, chains = [], {}
    need(has(head["ledger"], ["checkpoint", "entries"]), "no ledger's part")
    for one in head["ledger"]["entries"]:
        need(has(one, ["entry", "path"]) and all(map(is_hash, one["path"])), "no entry with a path")
        data, path = one["entry"].encode(), [bytes.fromhex(part) for part in one["path"]]
        told.append(load(data))
        check_form(told[-1])
        reached = climb(told[-1]["n"], length, digest(b"\0", data), path)
        need(reached == summit and told[-1]["p"] == head["project"], "not of this ledger")
    seals = [row for row in told[0].get("r", ()) if row["t"] == "seals"]
    seal = next(row.get("v") for row in seals if row["k"] == {"session": head["session"]})
    need(seal["checkpoint"] == head["checkpoint"], "the entry does not write this seal")
    check_seal(seal, head["session"], key)
    thoughts = [load(line) for line in lines[:size]]
    leaves = [follow(one, chains, gaps=True) for one in thoughts]
    need({one["session"] for one in thoughts} == {head["session"]}, "of another session")
    need((len(leaves), root(leaves)) == (size, expected), "another size or root than was signed")
    need(len({one["id"] for one in thoughts}) == size, "a thought twice")
    gone = set().union(*map(gone_by, told[1:]))
    check_texts(lines[size:], {one["content"] for one in thoughts}, gone)


def verify(data, trusted=""):
    sorts = {"counterpoint-bundle": check_ledger, "counterpoint-session": check_session}
    first, *lines = data.split(b"\n")
    need(lines and not lines.pop(), "the last line has no end")
    try:
        head = load(first)
        need(has(head, HEADS[head["format"]].split()), "a header with other keys")
        version = 2 if head["format"] == "counterpoint-bundle" else 1
        need(type(head["version"]) is int and head["version"] == version, "another version")
        need(trusted in ("", head["vkey"]), "another key")
        need(are_texts(*(head[one] for one in head if one not in ("ledger", "version"))), "no text")
        name, key_id, public = head["vkey"].split("+", 2)
        need(digest(name.encode(), b"\n", raw(public))[:4].hex() == key_id, "no verifier key")
        is_key = raw(public)[0] == 1 and len(raw(public)) == 33
        need(NAME.fullmatch(name) and is_key, "no Ed25519 key")
        return sorts[head["format"]](head, lines, (name, bytes.fromhex(key_id), raw(public)[1:]))
    except FORMS as fault:
        raise Broken(f"Broken: something has another form than it must: {fault!r}.") from None


def leave(why):
    sys.exit(print(why, file=sys.stderr) or 2)


if __name__ == "__main__":
    words, usage = sys.argv[1:], "usage: verify.py BUNDLE [--key KEY]"
    if {"-h", "--help"} & {*words}:
        sys.exit(print(usage))
    words = [words[0], words[2]] if len(words) == 3 and words[1] == "--key" else words
    if len(words) not in (1, 2) or not all(words) or any(one[0] == "-" for one in words):
        leave(usage)
    try:
        is_plain = (file := Path(words[0])).stat().st_size <= LARGEST and file.is_file()
        data = file.read_bytes() if is_plain else b""
    except OSError as fault:
        leave(f"{words[0]}: {fault.strerror}")
    if not re.match(rb'{[^\n]*"format":"counterpoint-(bundle|session)"', data):
        leave(f"{words[0]} is no bundle (a plain file of at most {LARGEST:,} bytes)")
    told = verify(data, *words[1:]) or ""
    whose = "" if words[1:] else " in itself; give the KEY to know whose it is"
    print(f"Sound{whose}.{told}")
