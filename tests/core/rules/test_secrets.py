"""Secrets: what is masked in a text, and what is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterpoint.core.rules.secrets import MASK, mask, mask_json

SHAPES = [
    "AKIAABCDEFGHIJKLMNOP", "ghp_" + "a" * 24, "github_pat_" + "b" * 30, "glpat-" + "c" * 20,
    "sk-" + "d" * 24, "xoxb-1234567890-ab", "AIza" + "e" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
    "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize("secret", SHAPES, ids=lambda secret: secret[:8])
def test_well_known_shapes_are_masked_wherever_they_stand(secret):
    """Alone, in words, in quotes, twice."""
    for text in (secret, f"it is {secret} there", f'"{secret}"', f"({secret}) {secret}"):
        masked = mask(text)
        assert secret not in masked
        assert MASK in masked
    assert mask(f"before {secret} after").startswith("before [secret]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: hunter22", "password: [secret]"),
        ('DB_PASSWORD="hunter22"', 'DB_PASSWORD="[secret]"'),
        ("api_key=abcdef123, more", "api_key=[secret], more"),
        ("postgres://joe:pw@host/db", "postgres://[secret]@host/db"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "[secret]"),
        ("GITHUB_PAT=abcdef123", "GITHUB_PAT=[secret]"),
        ("PAT: abcdef123", "PAT: [secret]"),
        ("my-pat = abcdef123", "my-pat = [secret]"),
        ("MYSQL_PWD=hunter22", "MYSQL_PWD=[secret]"),
        ("pwd: 'hunter22'", "pwd: '[secret]'"),
        ("x" * 60 + "_password=hunter22", "x" * 60 + "_password=[secret]"),
        ("cut-eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "cut-[secret]"),
    ],
)
def test_named_values_are_masked_and_their_names_kept(text, expected):
    """So that a reader sees what was there."""
    assert mask(text) == expected


@pytest.mark.parametrize(
    "text",
    ["the password is wrong", "a secret: x", "https://example.org/a:b", "sk-short", "tokens: 12",
     "the secretary", "task-12345678901234567890123", "", "PWD=/var/log", "pat: it is done",
     "COMPAT=version-12", "PATH=local-bin", "a-b-c-d-e-f-g.eyJzdWIiOiIx.c2ln"],
)  # fmt: skip
def test_ordinary_words_are_left_alone(text):
    """Masking what is none would make the ledger useless."""
    assert mask(text) == text


@pytest.mark.parametrize(
    "name",
    ["PASSWORD", "pa\u017f\u017fword", "ap\u0131_key", "AP\u0130_\u212aEY", "auth_to\u212aen"],
)
def test_names_are_known_in_every_case_that_a_letter_has(name):
    """A long s, a Kelvin sign or a Turkish i hides nothing from the first, cheap look."""
    assert mask(f"{name}=hunter22") == f"{name}=[secret]"


def test_known_values_are_masked_longest_first_and_never_too_short():
    """A value inside of another does not uncover the rest of it."""
    known = frozenset({"hunter22", "hunter22-and-more", "short"})
    assert mask("hunter22-and-more, hunter22, short", known) == "[secret], [secret], short"
    assert mask("short", frozenset({"short"})) == "short"


@given(text=st.text(max_size=60), known=st.frozensets(st.text(min_size=8, max_size=12), max_size=3))
def test_masking_twice_is_masking_once_for_plain_texts(text, known):
    """What was kept is compared as it would be kept again."""
    known = frozenset(value for value in known if value not in MASK and MASK not in value)
    once = mask(text, known)
    assert mask(once) == once
    assert all(value not in once for value in known)


def test_json_is_masked_value_by_value():
    """Names and nested values; the shape stays, tuples stay tuples."""
    secret = SHAPES[0]
    value = {"a": [secret, {"b": (secret, 1, None)}], secret: 1.5, "password": "hunter22"}
    assert mask_json(value) == {
        "a": [MASK, {"b": (MASK, 1, None)}], MASK: 1.5, "password": MASK,
    }  # fmt: skip


@pytest.mark.parametrize(
    "unit",
    ["eyJ-", "-----BEGIN ", "-----BEGIN PRIVATE KEY----- ", "sk-a ", "ab-password", "password ",
     "password=a ", "://a:", "secret_", "a-", "xoxa-", "glpat-", "AKIAA", "password    ", "a_pat",
     "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa-", "pwd pwd=", "a", "://" + "a" * 26,
     "mysql ", "mysql -p ", "mysql a ", "mariadb-", "sshpass -p ", "curl -u ", "curl -uaaaa", "--password ", "--a-a-a-", "--", "TOKEN=a", "secret_access_",
     'password="', "password='", "password=\"password='", "password=$A", "password=a,", "token: a",
     "authorization: bearer ", "SG.aaaaaaaaaaaaaaaa.", "://:a@", "://a:b@/", "secret=a.b.c.d"],
)  # fmt: skip
def test_a_secret_at_the_end_of_a_long_text_is_masked_before_the_test_ends(unit):
    """300 kB that begin a secret everywhere: what tries each place of it to its end takes hours."""
    text = unit * (300_000 // len(unit))
    assert mask(f"{text} AKIAABCDEFGHIJKLMNOP").endswith(MASK)


@given(
    around=st.text(alphabet="ab-_. =:\"'/\n", max_size=40),
    name=st.sampled_from(
        ["password", "DB_PWD", "pwd", "GITHUB_PAT", "PAT", "api_key", "auth_token"]
    ),
    link=st.sampled_from(["=", ": ", " = ", "='", '="', '": "']),
    value=st.text(alphabet="abcdef0123456789", min_size=6, max_size=20),
)
def test_no_value_stands_open_beside_the_name_of_a_secret(around, name, link, value):
    kept = mask(f"{around} {name}{link}{value}")
    assert not kept.endswith(value)
    assert name in kept


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _run(least: int, letters: str = _LETTERS) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=least, max_size=least + 8)


KINDS = {
    "aws": st.text(_CAPITALS, min_size=16, max_size=16).map("AKIA{}".format),
    "github": st.tuples(st.sampled_from("pousr"), _run(30)).map("gh{0[0]}_{0[1]}".format),
    "github_pat": _run(30).map("github_pat_{}".format),
    "gitlab": _run(20).map("glpat-{}".format),
    "own": st.text("0123456789abcdef", min_size=64, max_size=64).map("cpt_{}".format),
    "sk": _run(24).map("sk-{}".format),
    "slack": _run(12).map("xoxb-{}".format),
    "google": st.text(_LETTERS, min_size=35, max_size=35).map("AIza{}".format),
    "jwt": st.tuples(_run(12), _run(12), _run(12)).map("eyJ{0[0]}.eyJ{0[1]}.{0[2]}".format),
    "key": _run(40).map(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format
    ),
}
NAMED = (
    "password",
    "DB_PASSWORD",
    "client_secret",
    "api-key",
    "access_token",
    "PAT",
    "PWD",
    "my_pat",
)
AROUND = st.text(st.sampled_from(" \n\t\"'(),;\\{}[]:"), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", KINDS)
@given(chosen=st.data())
def test_a_secret_of_any_kind_is_masked_in_json_inside_of_json(kind: str, chosen: Any) -> None:
    """At any place of a text, which is kept inside of up to three floors of JSON."""
    secret = chosen.draw(KINDS[kind])
    value: Any = "so" + chosen.draw(AROUND) + secret + chosen.draw(AROUND) + "it is"
    for _ in range(chosen.draw(st.integers(0, 3))):
        value = json.dumps(chosen.draw(st.sampled_from([{"a": value}, [1, value], value])))
    core = secret.splitlines()[1] if kind == "key" else secret
    assert core not in mask(value)
    assert core not in json.dumps(mask_json({"deep": [value]}))


@given(chosen=st.data(), name=st.sampled_from(NAMED), secret=_run(8), deep=st.integers(0, 3))
def test_what_stands_under_a_name_is_masked_in_json_inside_of_json(
    chosen: Any, name: str, secret: str, deep: int
) -> None:
    """As a member, or as a line of a file; what is left is JSON as it was."""
    # A word for the sort of a value is none, which chance may come upon.
    assume(secret not in {"undefined", "required", "optional", "SecretStr"})
    line = f"{name}={secret}"
    value: Any = chosen.draw(st.sampled_from([{name: secret}, {"a": {name: secret}}, [line]]))
    for _ in range(deep):
        value = {"inside": json.dumps(value)}
    clean: Any = mask_json(value)
    assert secret not in json.dumps(clean)
    for _ in range(deep):
        clean = json.loads(clean["inside"])
    assert MASK in json.dumps(clean)


def test_an_address_with_slashes_behind_backslashes_has_no_password() -> None:
    """Some programs write them so in JSON."""
    assert mask('{"url": "https:\\/\\/joe:s3cr3tpw@host\\/x"}') == (
        '{"url": "https:\\/\\/[secret]@host\\/x"}'
    )


OPEN = [
    # What is written, and of it what must not be left.
    ("SECRET_KEY = 'django-insecure-abc123xyz'", "django-insecure-abc123xyz"),
    (
        "aws_secret_access_key = wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY1",
        "wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY1",
    ),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY1", "wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY1"),
    ('password="correct horse battery staple"', "correct horse battery staple"),
    ("password=ab;Xy99secret", "ab;Xy99secret"),
    ("DB_PASS=hunterhunter", "hunterhunter"),
    ("PGPASSWORD=abcdef12", "PRIVATE KEY BLOCK-----"),
    ("TOKEN=abcdefabcdef", "abcdefabcdef"),
    ("GITHUB_TOKEN=abcdefabcdef12", "abcdefabcdef12"),
    (
        "NPM_TOKEN=npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    ),
    ("PRIVATE_KEY=abcdefabcdef", "abcdefabcdef"),
    ("ACCESS_KEY=abcdefabcdef", "abcdefabcdef"),
    ("passphrase: foobarbaz", "foobarbaz"),
    (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----",
        "PRIVATE KEY BLOCK-----",
    ),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("Authorization: Bearer abcdefabcdef123456", "abcdefabcdef123456"),
    ("postgres://u:p@ss/w0rd@h/db", "u:p@ss/w0rd"),
    ("--password hunter2hunter2", "hunter2hunter2"),
    ("x-api-key: abcdefgh1", "abcdefgh1"),
    ('"api_key" : "abcdefgh1"', "abcdefgh1"),
    ("secret_key: abcdefgh1", "abcdefgh1"),
    ("client_secret=abcdefgh1", "abcdefgh1"),
    ("password => abcdefgh1", "abcdefgh1"),
    (
        "SG.abcdefghijklmnopqrstuv.wxyzabcdefghijklmnopqrstuvwxyz0123456789abcdefg",
        "SG.abcdefghijklmnopqrstuv.wxyzabcdefghijklmnopqrstuvwxyz0123456789abcdefg",
    ),
    ("ya29.a0AfH6SMBabcdefghijklmnop", "ya29.a0AfH6SMBabcdefghijklmnop"),
    (
        "pypi-AgEIcHlwaS5vcmcCJDAwabcdefghijklmnopqrstuvwxyz",
        "pypi-AgEIcHlwaS5vcmcCJDAwabcdefghijklmnopqrstuvwxyz",
    ),
    (
        "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
        "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
    ),
    ("curl -u user:curlpw5566 http://x", "curlpw5566"),
    ("Authorization: Basic dXNlcjpiYXNpY3B3MTIz", "dXNlcjpiYXNpY3B3MTIz"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCD", "hf_abcdefghijklmnopqrstuvwxyzABCD"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
    ('{"Authorization": "Bearer abc123def456"}', "abc123def456"),
    ("-H 'authorization: bearer abc123def456'", "abc123def456"),
    ("user_token: abc123def456", "abc123def456"),
    ("secret = 'two words'", "two words"),
    ("redis://:hunter22@h", ":hunter22"),
    ("DB_PASSWORD=p(w)12345", "p(w)12345"),
    ("curl -sSu joe:s3cret https://x", "s3cret"),
    ("mysql --password=clipw9900 -u x", "clipw9900"),
    ("config.password = 'a b c d e'", "a b c d e"),
    ("mysql -u root -psecretly shop", "secretly"),
    ("mysqldump -h db.example -psecretly shop > x", "secretly"),
    ("mariadb -p'secretly' shop", "secretly"),
    ("sshpass -p secretly ssh joe@x", "secretly"),
]


@pytest.mark.parametrize(("text", "secret"), OPEN)
def test_what_people_and_programs_write_down_is_masked_whole(text: str, secret: str) -> None:
    """Assignments, heads of requests, options, addresses, keys; in JSON inside of JSON too."""
    for told in (text, f"before\n{text}\nafter", json.dumps({"a": text})):
        masked = mask(told)
        assert secret not in masked
        assert MASK in masked
        assert mask(masked) == masked


PLAIN = [
    "token: see docs",
    "TOKEN=$TOKEN",
    "password: str",
    "api_key=os.environ['API_KEY']",
    "api_key=os.environ[KEY]",
    "secret_key = get_secret()",
    "password = getpass.getpass()",
    "password: string",
    "TOKEN=${TOKEN}",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: Bearer authentication is used",
    "Authorization: Basic authentication",
    "password: required",
    "--password option",
    "--token TOKEN",
    "curl -u $USER:$PASS http://x",
    "mysql -u root -p shop",
    "mysql -u root -p$DB_PASS shop",
    "mysql -uroot; cp -pr from to",
    "docker run mysql:8 -P 3306",
    "sshpass -f file ssh joe@x",
    "docker run -u www-data:www-data x",
    "http://localhost:4873/@babel/core",
    "http://h:8080/a@b",
    "PASS: test_a1b2c3",
    "tokens: 12",
    "token=123456789012",
    "max_tokens=100000",
    "token: 9007199254740991",
    "PASS=tests",
    "the token is abcdef123",
    "private_key: /etc/ssl/key1.pem",
    "PRIVATE_KEY=/etc/ssl/key1.pem",
    "access_key = load(path1)",
    "password: Optional[str]",
    "password={password}",
    "password: <your password>",
    "COMPASS=north-12345",
    "npm_config_registry",
    "process.env.TOKEN",
    "token: process.env.TOKEN1",
    "token = self.token2",
    "password = self.password",
    "secret: none",
    "token: str = ''",
    "bypass=abcdefgh1",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "ses_01J8Z6Q7",
    "demo-c12",
    "commit 3f2a1b9c3f2a1b9c3f2a1b9c3f2a1b9c3f2a1b9c",
    "the password is wrong",
    "a secret: x",
    "def f(password: str, token: str = 'x')",
    "author: Joe 12345678",
    "git clone https://github.com/o/r@v1",
    "sk-short",
    "if password == other_password:",
    "name+0123abcd+AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789",
    "- [ ] Rotate the token (see docs)",
    "first_pass: complete",
    "skills-ref",
    "https://x.org/a:b@c",
    "see http://[::1]:8080/x@y",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_speaks_of_secrets_is_left_alone(text: str) -> None:
    """Names, sorts, variables, calls, slots, ports, our own ids, hashes and numbers of claims."""
    assert mask(text) == text
    assert mask(f"before {text} after") == f"before {text} after"


def test_variables_and_heads_of_requests_are_masked_in_json() -> None:
    """By their names; what is named `token` is a number of ours, or a word."""
    value = {"GITHUB_TOKEN": "abcdefabcdef", "Authorization": "Bearer abc123def456"}
    assert mask_json(value) == dict.fromkeys(value, MASK)
    plain = {"token": "demo-claim-123456", "DB_PASS": "$DB_PASS", "ACCESS_KEY": 12345678}
    assert mask_json(plain) == plain
