"""Files that somebody else wrote: what is refused, and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterpoint.dialects.foundry.nodes.rules import shape
from counterpoint.dialects.foundry.nodes.rules.shape import is_safe_id, parse
from counterpoint.kernel.errors import MalformedDocument
from fakes.spec_documents import document


def faults_in(data: bytes) -> list[Any]:
    """Answer the faults with which bytes are refused."""
    with pytest.raises(MalformedDocument) as refused:
        parse(data)
    return refused.value.facts["faults"]


def test_a_file_is_read_as_it_is():
    """Also with a mark of its byte order."""
    assert parse(b"\xef\xbb\xbf" + json.dumps(document()).encode()) == document()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "INVALID_JSON"),
        (b"{", "INVALID_JSON"),
        (b'{"a": NaN}', "INVALID_JSON"),
        (b'{"a": "\xff"}', "INVALID_JSON"),
        (b"[" * 100_000, "INVALID_JSON"),
        (b"[]", "INVALID_STRUCTURE"),
        (b"3", "INVALID_STRUCTURE"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "EXCESSIVE_NESTING"),
        (b'{"a": 1, "b": {"phase-1": 1, "phase-1": 2}}', "DUPLICATE_KEY"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "INVALID_JSON"),
        (b"[" + b"[]," * 1_000_001, "FILE_TOO_LARGE"),
        (b" " * 10_000_001, "FILE_TOO_LARGE"),
    ],
)
def test_what_is_no_document_is_refused(data: bytes, code: str):
    """Before its parts are looked at."""
    assert [one["code"] for one in faults_in(data)] == [code]


def test_a_name_that_stands_twice_is_told():
    """So that it can be found."""
    assert faults_in(b'{"x": {"task-1": 1, "task-1": 2}}')[0]["location"] == "task-1"


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("demo-2026-01-02-001", True),
        ("A.b_c", True),
        ("", False),
        (".", False),
        ("..", False),
        (".hidden", False),
        ("a/b", False),
        ("../a", False),
        ("a\\b", False),
        ("a\0b", False),
        ("a\n", False),
        ("ä", False),
        ("a" * (shape.SPEC_ID_LIMIT + 1), False),
        (None, False),
        (3, False),
    ],
)
def test_an_id_that_is_a_path_is_none(text: Any, is_safe: bool):
    """For it is the name of a file."""
    assert is_safe_id(text) is is_safe
