"""Secrets of .env files and of the environment are found, however badly written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.evidence.environment import secret_values


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A=plain-value", {"plain-value"}),
        ("export A = spaced-value  ", {"spaced-value"}),
        ("  A: colon-value", {"colon-value"}),
        ("A=value-here # comment", {"value-here", "value-here # comment"}),
        ("A=hash#within-it", {"hash#within-it"}),
        ("A='single # quoted'", {"single # quoted"}),
        ('A="double \\"quoted\\""', {'double \\"quoted\\"', 'double "quoted"'}),
        ("A=`ticks around`", {"ticks around"}),
        ("A=short", set()),
        ("A=\nB=value-of-b", {"value-of-b"}),
        ("# A=commented-out\nB=value-of-b", {"value-of-b"}),
        ("A=first-value\r\nB=second-value\r\n", {"first-value", "second-value"}),
        ("nonsense line\n=no-name-here\nA=good-value", {"good-value"}),
        ('A="never closed\nB=value-of-b', {'"never closed', "value-of-b"}),
        ("A='never closed\nB=value-of-b", {"'never closed", "value-of-b"}),
        ("a.b-c=dotted-name", {"dotted-name"}),
        (
            "A=postgres://me:pass%40word1@host/db",
            {"postgres://me:pass%40word1@host/db", "pass%40word1", "pass@word1"},
        ),
        ("A=http://[broken:address", {"http://[broken:address"}),
        (
            'A="-----BEGIN-----\nline-of-the-key\n-----END-----"',
            {
                "-----BEGIN-----\nline-of-the-key\n-----END-----",
                "-----BEGIN-----",
                "line-of-the-key",
                "-----END-----",
            },
        ),
        (
            'A="one-line-1\\none-line-2"',
            {"one-line-1\\none-line-2", "one-line-1\none-line-2", "one-line-1", "one-line-2"},
        ),
    ],
)
def test_values_are_found_as_written(tmp_path: Path, text: str, wanted: set[str]) -> None:
    """Every way of writing an assignment that is in use."""
    (tmp_path / ".env").write_bytes(text.encode())
    assert secret_values(tmp_path, {}) == wanted


def test_all_dotenv_files_of_the_root_count(tmp_path: Path) -> None:
    """By name, with links followed; not those of folders below, nor other files."""
    (tmp_path / "sub").mkdir()
    for name in (".env", ".env.local", ".env.production", "sub/.env", ".envrc", "real"):
        (tmp_path / name).write_text(f"A=value-in-{name}")
    (tmp_path / ".env.link").symlink_to("real")
    wanted = {".env", ".env.local", ".env.production", "real"}
    assert secret_values(tmp_path, {}) == {f"value-in-{name}" for name in wanted}


def test_variables_with_secret_names_count(tmp_path: Path) -> None:
    """Others do not, and short values mask too much to be masked."""
    environ = {
        "API_KEY": "key-of-the-api",
        "NPM_TOKEN": "token123",
        "HOME": "/home/somebody",
        "PIN_PASSWORD": "1234",
    }
    assert secret_values(tmp_path, environ) == {"key-of-the-api", "token123"}


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """A folder, a pipe, a link to nowhere, bytes that are no text; the rest still counts."""
    (tmp_path / ".env.d").mkdir()
    os.mkfifo(tmp_path / ".env.pipe")
    (tmp_path / ".env.lost").symlink_to("nowhere")
    (tmp_path / ".env.bytes").write_bytes(b"\xff\xfe\x00\nA=after-the-bytes\n")
    (tmp_path / ".env").write_bytes(b"\xef\xbb\xbfA=after-the-mark")
    assert secret_values(tmp_path, {}) == {"after-the-bytes", "after-the-mark"}
    assert secret_values(tmp_path / "missing", {}) == frozenset()


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_content_makes_it_fail(tmp_path: Path, content: bytes) -> None:
    """Any bytes at all, and a good line after them is still found."""
    quotes = set(b"\"'`\\")
    (tmp_path / ".env").write_bytes(content + b"\nA=still-a-secret\n")
    found = secret_values(tmp_path, {})
    if not quotes & set(content):
        assert "still-a-secret" in found


def test_plain_words_numbers_and_paths_are_no_secrets(tmp_path: Path) -> None:
    """What is named like nothing secret and looks like a word stays readable everywhere."""
    (tmp_path / ".env").write_text(
        "NODE_ENV=development\nPORT=8080808080\nDATA=/srv/data/app\nDB_PASSWORD=correcthorse\n"
        "MIXED=a1b2c3d4e5\n"
    )
    assert secret_values(tmp_path, {}) == {"correcthorse", "a1b2c3d4e5"}


def test_an_example_file_holds_no_secrets(tmp_path: Path) -> None:
    """`.env.example` is committed for everybody to read."""
    (tmp_path / ".env.example").write_text("API_KEY=put-your-key-here\n")
    assert secret_values(tmp_path, {}) == set()
