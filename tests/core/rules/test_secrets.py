"""Secrets: what is masked in a text, and what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
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
     "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa-", "pwd pwd=", "a", "://" + "a" * 26],
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
    """Whatever stands before."""
    kept = mask(f"{around} {name}{link}{value}")
    assert not kept.endswith(value)
    assert name in kept
