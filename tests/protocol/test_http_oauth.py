"""Signed tokens: taken from the issuer for us, and from nobody else for nothing else."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from counterpoint.kernel.errors import InvalidInput, Unavailable
from counterpoint.protocol.http.oauth import ALGORITHMS, LASTS, REST, Issuer, KeySet

ISSUER = "https://login.example.org"
AUDIENCE = "https://plan.example.org/mcp"
KEYS = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def jwk(algorithm, key, kid):
    """Answer the public half of a key as a JSON Web Key."""
    maker = jwt.get_algorithm_by_name(algorithm)
    return {**json.loads(maker.to_jwk(key.public_key())), "kid": kid, "alg": algorithm}


@pytest.fixture
def keys(tmp_path):
    """Give the file of a key set with a key of each sort."""
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [jwk(name, KEYS[name], name) for name in KEYS]}))
    return path


@pytest.fixture
def issuer(keys):
    """Give an issuer whose keys lie in a file."""
    return issued_by(KeySet(str(keys), lambda: 0.0))


def issued_by(keys, **changes):
    """Answer an issuer with a key set."""
    parts = {"name": ISSUER, "audience": AUDIENCE, "keys": keys}
    return Issuer(**{**parts, **changes})


def claims(**changes):
    """Answer the claims of a token that is good for an hour, with changes; None takes one away."""
    now = int(time.time())
    plain = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now + 3600, "nbf": now,
        "scope": "openid counterpoint:read counterpoint:write",
    }  # fmt: skip
    return {name: value for name, value in {**plain, **changes}.items() if value is not None}


def signed(algorithm="RS256", key=None, kid=None, **changes):
    """Answer a signed token."""
    return jwt.encode(
        claims(**changes), key or KEYS[algorithm], algorithm, headers={"kid": kid or algorithm}
    )


def shared_secret(secret):
    """Answer a token that is signed with a text as if it were a secret of both sides."""

    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    head = json.dumps({"alg": "HS256", "kid": "RS256"}).encode()
    told = part(head) + b"." + part(json.dumps(claims()).encode())
    return (told + b"." + part(hmac.digest(secret, told, "sha256"))).decode()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_of_the_issuer_is_taken(issuer, algorithm):
    """With each algorithm that is spoken here."""
    grant = issuer.find(signed(algorithm))
    assert (grant.name, grant.scopes) == ("ada", ("read", "write"))
    assert grant.id.startswith("oauth:")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example.org/mcp"}, {"aud": None}, {"aud": [ISSUER]},
        {"iss": "https://evil.example"}, {"iss": None},
        {"exp": 1}, {"exp": None}, {"nbf": 4_000_000_000}, {"sub": None}, {"sub": ""},
    ],
)  # fmt: skip
def test_a_token_for_another_time_place_or_resource_is_none(issuer, changes):
    assert issuer.find(signed(**changes)) is None


@pytest.mark.parametrize("kind", ["at+jwt", "application/at+jwt", "JWT", "AT+JWT", "jwt"])
def test_a_token_that_says_to_be_an_access_token_is_taken(issuer, kind):
    """Or says nothing but its format; media types have no case."""
    header = {"kid": "RS256", "typ": kind}
    assert issuer.find(jwt.encode(claims(), KEYS["RS256"], "RS256", headers=header)) is not None


@pytest.mark.parametrize(
    "kind", ["id+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "application/jwt", "at", " at+jwt", ""]
)  # fmt: skip
def test_a_token_of_another_type_is_none(issuer, kind):
    """What an issuer signs for another purpose opens nothing here."""
    head = json.dumps({"alg": "RS256", "kid": "RS256", "typ": kind})
    assert issuer.find(signed_with(head)) is None


def test_a_token_without_a_type_is_taken(issuer):
    """Not every issuer writes one; one that is no text is another."""
    assert issuer.find(signed_with('{"alg": "RS256", "kid": "RS256"}')) is not None
    for kind in ("null", "1", '["JWT"]'):
        assert (
            issuer.find(signed_with(f'{{"alg": "RS256", "kid": "RS256", "typ": {kind}}}')) is None
        )


def signed_with(head):
    """Answer a token with this very header."""
    parts = (head.encode(), json.dumps(claims()).encode())
    told = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mark = KEYS["RS256"].sign(told, padding.PKCS1v15(), hashes.SHA256())
    return (told + b"." + base64.urlsafe_b64encode(mark).rstrip(b"=")).decode()


def test_clocks_may_differ_a_little(issuer):
    """Ten seconds, and no more."""
    now = int(time.time())
    assert issuer.find(signed(exp=now - 5)) is not None
    assert issuer.find(signed(exp=now - 15)) is None
    assert issuer.find(signed(nbf=now + 5)) is not None
    assert issuer.find(signed(nbf=now + 60)) is None


def test_a_token_with_another_signature_is_none(issuer, keys):
    """A strange key, a strange algorithm, none at all, the public key as a shared secret."""
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    whole = signed()
    head, body, mark = whole.split(".")
    other = signed(sub="bob").split(".")[1]
    public = json.dumps(json.loads(keys.read_text())["keys"][0])
    forged = [
        signed(key=stranger),
        signed(kid="strange"),
        signed("RS256", kid="ES256"),
        jwt.encode(claims(), None, "none", headers={"kid": "RS256"}),
        shared_secret(public.encode()),
        f"{head}.{other}.{mark}", f"{head}.{body}.", "x", "", "a.b.c", "x" * 20_000,
        whole + "." + body,
    ]  # fmt: skip
    assert [issuer.find(token) for token in forged] == [None] * len(forged)


@pytest.mark.parametrize(
    ("told", "scopes"),
    [
        ({"scope": "counterpoint:read"}, ("read",)),
        ({"scope": "counterpoint:write"}, ("read", "write")),
        ({"scope": "counterpoint:run"}, ("read", "write", "run")),
        ({"scope": "counterpoint:maintain"}, ("read", "write", "run", "maintain")),
        ({"scope": None, "scp": ["counterpoint:read", 1]}, ("read",)),
        ({"scope": "read write"}, ()),
        ({"scope": None}, ()),
        ({"scope": 5}, ()),
    ],
)
def test_scopes_are_taken_from_ours_alone(issuer, told, scopes):
    """What other resources call read is nothing here."""
    assert issuer.find(signed(**told)).scopes == scopes


def test_a_subject_that_is_no_name_gets_one(issuer):
    name = issuer.find(signed(sub="auth0|5f7")).name
    assert name.startswith("oauth-")
    assert issuer.find(signed(sub="ada@example.org")).name == "ada@example.org"


def test_one_subject_of_two_issuers_is_two(issuer, keys):
    """Under one name, as whom each of them acts."""
    other = issued_by(KeySet(str(keys)), name="https://door.example.org")
    found = issuer.find(signed()), other.find(signed(iss="https://door.example.org"))
    assert [one.name for one in found] == ["ada", "ada"]
    assert found[0].id != found[1].id


def test_a_new_key_is_found_and_strange_ones_do_not_cause_a_flood(keys):
    """Read again for an unknown name, but not twice within the rest; and now and then anyway."""
    now, fresh = [100.0], rsa.generate_private_key(public_exponent=65537, key_size=2048)
    issuer = issued_by(KeySet(str(keys), lambda: now[0]))
    assert issuer.find(signed()) is not None
    keys.write_text(json.dumps({"keys": [jwk("RS256", fresh, "two")]}))
    assert issuer.find(signed(key=fresh, kid="two")) is None
    now[0] += REST
    assert issuer.find(signed(key=fresh, kid="two")) is not None
    assert issuer.find(signed()) is None
    keys.write_text(json.dumps({"keys": []}))
    now[0] += LASTS
    assert issuer.find(signed(key=fresh, kid="two")) is None


def test_keys_that_cannot_be_read_leave_those_that_were_known(keys):
    """At the start it is an error; later the issuer may be away for a while."""
    now = [0.0]
    found = KeySet(str(keys), lambda: now[0])
    issuer = issued_by(found)
    assert issuer.find(signed()) is not None
    keys.write_text("{")
    now[0] += LASTS
    assert issuer.find(signed()) is not None
    for wrong in ("{", "[]", '{"keys": 5}', '{"keys": []}x'):
        keys.write_text(wrong)
        with pytest.raises(Unavailable, match="cannot be read"):
            KeySet(str(keys)).load()


class Keys(BaseHTTPRequestHandler):
    """Serves a key set at one address, and sends callers of another there."""

    def do_GET(self):
        """Answer the keys, or a redirection to them."""
        body = json.dumps({"keys": [jwk("RS256", KEYS["RS256"], "RS256")]}).encode()
        moved = self.path == "/moved"
        self.send_response(302 if moved else 200)
        if moved:
            self.send_header("Location", "/keys")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Keep quiet."""


def test_keys_are_read_from_an_address_and_from_no_other():
    """A redirection is not followed."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        there = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            assert issued_by(KeySet(f"{there}/keys")).find(signed()) is not None
            with pytest.raises(Unavailable):
                KeySet(f"{there}/moved").load()
        finally:
            server.shutdown()
            serving.join(10)


@pytest.mark.parametrize("source", ["http://example.org/keys", "ftp://localhost/x", "file:///x"])
def test_keys_come_over_a_safe_way_only(source):
    """Plain http from this machine alone."""
    with pytest.raises(InvalidInput):
        KeySet(source)


@pytest.mark.parametrize(
    "changes", [{"name": "http://example.org"}, {"audience": "plan"}, {"audience": AUDIENCE + "#x"}]
)
def test_issuer_and_audience_are_https_addresses(keys, changes):
    """As RFC 8414 and RFC 9728 want them."""
    with pytest.raises(InvalidInput):
        issued_by(KeySet(str(keys)), **changes)


def test_the_server_describes_itself(issuer):
    """RFC 9728: at an address made from the resource's own."""
    assert issuer.metadata_url == (
        "https://plan.example.org/.well-known/oauth-protected-resource/mcp"
    )
    told = issuer.metadata()
    assert (told["resource"], told["authorization_servers"]) == (AUDIENCE, [ISSUER])
    assert told["scopes_supported"] == [
        "counterpoint:read",
        "counterpoint:write",
        "counterpoint:run",
        "counterpoint:maintain",
    ]
