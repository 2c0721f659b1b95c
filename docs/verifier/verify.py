#!/usr/bin/env python3
"""A second verifier of exported bundles, small enough to be read before it is believed.

    python3 verify.py BUNDLE [KEY]

It needs Python 3.9 or later and nothing else, and shares no code with the product. KEY is the
verifier key of the project (NAME+ID+BASE64), obtained in another way than with the bundle; without
it a bundle only shows that it agrees with itself. Exit code 0: it holds; 1: it does not.

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
 4b format counterpoint-session, origin NAME/SESSION: each line is a thought of that session (ten
    keys) and follows its task's chain, in which others may stand between. `ledger` has a checkpoint
    of origin NAME and entries with paths to its root; the first entry writes this very seal;
 5  the other lines are texts with their SHA-256, in its order; each digest `$text` of an entry (no
    other key has a `$` first), or `content` of a thought, has one, or `text.redacted` took it away.
"""

import base64
import hashlib
import json
import re
import sys

KEYS = "agent content id previous sequence session task timestamp type version"
TEXT = re.compile(rb'\{"\$text":"([0-9a-f]{64})"\}')
KEY = re.compile(rb'[{,]"\$([^"\\]|\\.)*":')  # a key that begins with $
dump = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # field, order: Ed25519
D = -121665 * pow(121666, -1, P) % P


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


def load(data):
    value = json.loads(data.decode(), parse_int=whole, parse_float=whole, parse_constant=whole)
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
    need(len(public) == 32 and len(signature) == 64, "no key or signature of Ed25519")
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L
    a = times(s, point((4 * pow(5, -1, P) % P).to_bytes(32, "little")))
    b = add(point(r), times(k, point(public)))
    return s < L and all((a[i] * b[2] - b[i] * a[2]) % P == 0 for i in (0, 1))


def raw(text):
    found = base64.b64decode(text, validate=True)
    need(base64.b64encode(found).decode() == text, "base64 in another spelling")
    return found


def checkpoint(note, key, origin):
    text, _, signatures = note.rpartition("\n\n")
    lines, signed = text.split("\n"), False
    need(signatures.endswith("\n"), "a checkpoint is not a signed note")
    for line in signatures[:-1].split("\n"):
        dash, name, data = line.split(" ")
        need(dash == "—" and raw(data), "a signature line is not one")
        if (name, raw(data)[:4]) == key[:2]:
            signed = is_signed(key[2], text.encode() + b"\n", raw(data)[4:])
            need(signed, "a signature does not fit")
    need(signed and lines[0] == origin, "a checkpoint is not signed, or of another log")
    need(all(lines) and re.fullmatch("0|[1-9][0-9]{0,18}", lines[1]), "no checkpoint")
    return int(lines[1]), raw(lines[2])


def follow(thought, chains, gaps):  # chains: task -> its thoughts so far, as (thought, hash)
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
    need((row["size"], row["root"]) == (size, expected.hex()), "a seal is not as it was signed")


def check_rows(entry, chains, leaves, sealed, key):  # a whole row leaves out what the entry tells
    told = {"created_at": entry["t"], "agent": entry["w"]["n"], "session": entry["w"].get("s", "")}
    rows = [(row["t"], row["k"], row.get("v")) for row in entry.get("r", ())]
    rows = [(table, name, {} if row is None else {**told, **row}) for table, name, row in rows]
    for table, name, row in rows:
        session = name.get("id") if table == "sessions" else row.get("session", "")
        watched = table in ("sessions", "records", "thoughts")
        need(not watched or session not in sealed, "something was written in a sealed session")
        if table == "thoughts":
            thought = {one: row.get(one, 0 if one == "sequence" else "") for one in KEYS.split()}
            thought |= {"id": name["record"], "timestamp": row["created_at"]}
            leaf = follow(thought, chains, gaps=False)
            need(leaf.hex() == row["hash"], "another hash of a thought")
            leaves.setdefault(session, []).append(leaf)
            record = {"id": name["record"], "kind": "thought", "item": row["task"]}
            record |= {"session": session, "body": {"$text": row["content"]}}
            record |= {"created_at": row["created_at"]}
            written = [{"session": "", **k, **v} for t, k, v in rows if t == "records"]
            need(any(record.items() <= one.items() for one in written), "a thought without record")
    for _, name, row in (one for one in rows if one[0] == "seals"):
        tree = leaves.get(name["session"])
        need(tree and name["session"] not in sealed, "a seal of nothing, or one twice")
        need((row["size"], row["root"]) == (len(tree), root(tree).hex()), "a seal of others")
        check_seal(row, name["session"], key)
        sealed.add(name["session"])


def check_texts(lines, wanted, gone):
    texts = [load(line) for line in lines]
    named = [digest(one["body"].encode()).hex() for one in texts]
    need(named == [one["text"] for one in texts] == sorted({*named}), "a text was changed or moved")
    need(all(len(one) == 2 for one in texts), "a text has another form")
    need(wanted - gone <= {*named} <= wanted, "a text is missing, or nothing names it")


def check_ledger(head, lines, key):
    size, expected = checkpoint(head["checkpoint"], key, key[0])
    before, time, leaves, wanted, gone = "0" * 64, "", [], set(), set()
    chains, trees, sealed = {}, {}, set()
    for place, line in enumerate(lines[:size]):
        entry = load(line)
        need({*"ahnptvw"} <= {*entry} <= {*"afhnprstvw"} and entry["v"] == 2, "a line is no entry")
        need((entry["p"], entry["n"], entry["h"]) == (head["project"], place, before), "no chain")
        need(entry["t"] >= time, "an entry is older than the one before")
        named = {one.decode() for one in TEXT.findall(line)}
        wanted |= named
        gone = gone - named | {*(entry["f"]["sha256"] if entry["a"] == "text.redacted" else ())}
        check_rows(entry, chains, trees, sealed, key)
        leaves.append(digest(b"\0", line))
        before, time = leaves[-1].hex(), entry["t"]
    need((len(leaves), root(leaves)) == (size, expected), "another size or root than was signed")
    check_texts(lines[size:], wanted, gone)


def check_session(head, lines, key):
    size, expected = checkpoint(head["checkpoint"], key, f"{key[0]}/{head['session']}")
    length, summit = checkpoint(head["ledger"]["checkpoint"], key, key[0])
    told, chains = [], {}
    for one in head["ledger"]["entries"]:
        data, path = one["entry"].encode(), [bytes.fromhex(part) for part in one["path"]]
        told.append(load(data))
        reached = climb(told[-1]["n"], length, digest(b"\0", data), path)
        need(reached == summit and told[-1]["p"] == head["project"], "not of this ledger")
    (seal,) = [row["v"] for row in told[0].get("r", ()) if row["t"] == "seals"]
    need(seal["checkpoint"] == head["checkpoint"], "the entry does not write this seal")
    check_seal(seal, head["session"], key)
    thoughts = [load(line) for line in lines[:size]]
    leaves = [follow(one, chains, gaps=True) for one in thoughts]
    need({one["session"] for one in thoughts} == {head["session"]}, "of another session")
    need((len(leaves), root(leaves)) == (size, expected), "another size or root than was signed")
    gone = [one["f"]["sha256"] for one in told[1:] if one["a"] == "text.redacted"]
    check_texts(lines[size:], {one["content"] for one in thoughts}, set().union(*gone))


def verify(data, trusted=""):
    sorts = {"counterpoint-bundle": check_ledger, "counterpoint-session": check_session}
    first, *lines = data.split(b"\n")
    need(lines and not lines.pop(), "the last line has no end")
    try:
        head = load(first)
        need(head["version"] == 1 and trusted in ("", head["vkey"]), "another version, or key")
        name, key_id, public = head["vkey"].split("+", 2)
        need(digest(name.encode(), b"\n", raw(public))[:4].hex() == key_id, "no verifier key")
        sorts[head["format"]](head, lines, (name, bytes.fromhex(key_id), raw(public)[1:]))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as fault:
        raise Broken(f"Broken: something has another form than it must: {fault!r}.") from None


if __name__ == "__main__":
    need(len(sys.argv) in (2, 3), "usage: verify.py BUNDLE [KEY]")
    with open(sys.argv[1], "rb") as bundle:
        verify(bundle.read(), *sys.argv[2:])
    print("Sound." if sys.argv[2:] else "Sound in itself; give the KEY to know whose it is.")
