"""YAML in which every scalar stays text, front matter, and what hears numbers and words in it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.yamltext import (
    DEPTH_LIMIT,
    LENGTH_LIMIT,
    parse_bool,
    parse_int,
    parse_text,
    parse_words,
    read_front_matter,
    read_yaml,
)

TEXTS = st.text(
    st.characters(max_codepoint=0xFFFD, exclude_categories=["Cs"], exclude_characters="\x7f"),
    max_size=20,
)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
NOISE = st.text(st.sampled_from("ab01 \n\t\r-:,[]{}()&*!%@`'\"|>?#<\\Uux.~^\ufeff\x00\u2028é"))


@pytest.fixture(params=["C", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with the parser in C, and as on a platform that has none."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CBaseLoader")


def parts(text: str) -> tuple[dict[str, Json], str]:
    """Answer the front matter of a text, and its body."""
    read = read_front_matter(text)
    return read.values, read.body


def refusal(text: str, read: Callable[[str], Any] = read_yaml) -> MalformedDocument:
    """Answer how a text is refused."""
    with pytest.raises(MalformedDocument) as caught:
        read(text)
    return caught.value


@given(VALUES)
@pytest.mark.parametrize("indent", [None, 2])
def test_what_was_written_is_what_is_read(indent: int | None, value: Any) -> None:
    """JSON of texts is YAML; it comes back without a change."""
    assert read_yaml(json.dumps(value, indent=indent)).value == value


@given(NOISE)
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    """No text makes the reader fail in another way, and a refusal always names a line."""
    refused = None
    try:
        read_yaml(text)
    except MalformedDocument as fault:
        refused = fault
    if refused is not None:
        assert 1 <= refused.facts["line"] <= text.count("\n") + text.count("\r") + 2
        assert refused.hint.endswith(".")


@given(NOISE)
def test_any_text_has_a_front_matter_or_is_refused(text: str) -> None:
    """A text is split in two, and the second part is its own end."""
    try:
        body = read_front_matter(text).body
    except MalformedDocument:
        return
    assert text.endswith(body)


@pytest.mark.parametrize(
    "word",
    [
        "no",
        "on",
        "Yes",
        "null",
        "~",
        "1.10",
        "0o17",
        "012",
        "1_000",
        "12:30:00",
        "2026-01-01",
        ".inf",
    ],
)
def test_a_word_keeps_its_letters(word: str) -> None:
    """What other readers take for a number, a date or nothing is the text that stands there."""
    assert read_yaml(f"{word}: {word}").value == {word: word}


def test_nothing_is_the_empty_text() -> None:
    assert read_yaml("").value == ""
    assert read_yaml("# a remark\n").value == ""
    assert read_yaml("a:\nb: ''").value == {"a": "", "b": ""}


def test_every_style_of_text_is_read() -> None:
    """Block texts keep their lines; a mark at the beginning and CRLF change nothing."""
    text = "\ufefflines: |\n  one\n  two\nfolded: >-\n  one\n  two\nflow: {a: [b, 'c: d']}\n"
    value = {"lines": "one\ntwo\n", "folded": "one two", "flow": {"a": ["b", "c: d"]}}
    assert read_yaml(text).value == value
    assert read_yaml(text.replace("\n", "\r\n")).value == value


@pytest.mark.parametrize(
    ("text", "line", "problem", "advice"),
    [
        ("a: 1\nb: *a", 2, "the alias *a", "Write the value out"),
        ("a: &a 1", 1, "the anchor &a", "Take it away"),
        ("a: &a [1]", 1, "the anchor &a", "Take it away"),
        ("a: &a {b: 1}", 1, "the anchor &a", "Take it away"),
        ("a: !!int 1", 1, "the tag tag:yaml.org,2002:int", "every value is a text"),
        ("a: ! b", 1, "the tag !", "every value is a text"),
        ("a: !!python/object/apply:os.system [ls]", 1, "the tag", "every value is a text"),
        ("a: !x {b: c}", 1, "the tag !x", "every value is a text"),
        ("a: 1\n<<: {b: 2}", 2, "the merge key <<", "Write the keys out"),
        ("a: 1\nb: 2\na: 3", 3, "the key 'a' stands in line 1", "Keep one"),
        ("? [a]\n: b", 1, "a key is a list", "plain words"),
        ("{{a: b}: c}", 1, "a key is a list or a mapping", "plain words"),
        ("--- a\n--- b\n", 2, "a second document", "one document"),
        ("%YAML 1.1\n---\na: b", 1, "directives", "% lines"),
        ("%TAG ! x:\n---\na: b", 1, "directives", "% lines"),
        ("a: b\nc: d: e", 2, "mapping values are not allowed", "in quotes"),
        ("a:\n\t- b", 2, "cannot start any token", "with spaces"),
        ("a: 'b\n\nc", 3, "that begins in line 1", "in quotes"),
        ("a: b\nc: \x07", 2, "U+0007", "escape in double quotes"),
        ("a: b\u2028c", 1, "U+2028", "escape in double quotes"),
        ("a: b\x85c", 1, "U+0085", "escape in double quotes"),
        ("a: \ud800", 1, "U+D800", "escape in double quotes"),
    ],
)
def test_what_has_no_place_is_refused(text: str, line: int, problem: str, advice: str) -> None:
    """The refusal says the line, what is wrong there and what to do."""
    refused = refusal(text)
    assert refused.facts["line"] == line
    assert refused.message.startswith(f"line {line}: ")
    assert problem in refused.message
    assert advice in refused.hint


@pytest.mark.parametrize("escape", [r"\ud800", r"\U00110000", r"\UFFFFFFFF", r"\q"])
def test_an_escape_that_names_no_character_is_refused(escape: str) -> None:
    """Neither parser lets half a character or a number beyond the last one through."""
    assert refusal(f'a: "{escape}"').facts["line"] == 1


def test_a_quoted_word_is_never_a_merge() -> None:
    """In quotes it is a key like any other."""
    assert read_yaml("'<<': x").value == {"<<": "x"}


def test_a_document_has_a_largest_length() -> None:
    """One character more than the limit is refused before anything is read."""
    assert read_yaml("a" * LENGTH_LIMIT).value == "a" * LENGTH_LIMIT
    assert str(LENGTH_LIMIT) in refusal("a" * (LENGTH_LIMIT + 1)).message


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("{a: ", "}")])
def test_a_document_has_a_largest_depth(begin: str, end: str) -> None:
    """As deep as the limit is read, one deeper is refused."""
    read_yaml(begin * DEPTH_LIMIT + end * DEPTH_LIMIT)
    deeper = refusal(begin * (DEPTH_LIMIT + 1) + end * (DEPTH_LIMIT + 1))
    assert f"more than {DEPTH_LIMIT} deep" in deeper.message


@pytest.mark.parametrize(
    "part", ["[", "{a: ", "- ", "? ", "&a ", "*a ", "'a", '"', "a: ", "!", "|\n"]
)
def test_a_bomb_is_refused_soon(part: str) -> None:
    """What others answer with memory or recursion costs no more here than its length."""
    begun = time.monotonic()
    refusal(part * (LENGTH_LIMIT // len(part)))
    assert time.monotonic() - begun < 5


def test_the_billion_laughs_stay_few() -> None:
    """A value is never used twice, so a small text is never a large value."""
    laughs = "a: &a [ha, ha]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n"
        for before, name in zip("abcdef", "bcdefg", strict=True)
    )
    assert "anchor" in refusal(laughs).message


def test_each_value_has_its_line() -> None:
    read = read_yaml("# remark\ntasks:\n  - title: a\n    areas: [x,\n      y]\n", first_line=11)
    assert read.line() == 11
    assert read.line("tasks") == 12
    assert read.line("tasks", 0) == 13
    assert read.line("tasks", 0, "areas", 1) == 15
    assert read.line("tasks", 0, "missing", "deeper") == 13


def test_front_matter_stands_between_two_lines() -> None:
    """Above is what is read, below is the body, exactly as written."""
    text = "---\nname: x\nversion: 1.10\n---  \n# Title\n---\nrest\n"
    assert parts(text) == ({"name": "x", "version": "1.10"}, "# Title\n---\nrest\n")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nname: x\n---\nbody\n",
        "---\r\nname: x\r\n---\r\nbody\n",
        "---\t\nname: x\n---\t\nbody\n",
        "---\nname: x\n...\n---\nbody\n",
    ],
)
def test_front_matter_is_found_as_editors_write_it(text: str) -> None:
    """A mark, CRLF and blanks behind the lines change nothing."""
    assert parts(text) == ({"name": "x"}, "body\n")


@pytest.mark.parametrize(
    "text", ["", "body\n", "\n---\na: b\n---\n", "----\na: b\n----\n", " ---\n"]
)
def test_a_text_may_have_no_front_matter(text: str) -> None:
    """Then the whole text is the body, and every line is counted from the first."""
    read = read_front_matter(text)
    assert (read.values, read.body, read.line("a")) == ({}, text, 1)


def test_front_matter_may_be_empty_or_all_there_is() -> None:
    """The closing line may end the text."""
    assert parts("---\n---") == ({}, "")
    assert parts("---\n# nothing\n---\nbody") == ({}, "body")


@pytest.mark.parametrize("text", ["---", "---\n", "---\na: b\n", "---\na: b\n ---\n----\n"])
def test_front_matter_that_does_not_end_is_refused(text: str) -> None:
    """The refusal says which line is missing."""
    assert "Write a line `---`" in refusal(text, read_front_matter).hint


@pytest.mark.parametrize("text", ["---\n- a\n---\n", "---\na\n---\n"])
def test_front_matter_is_keys_and_values(text: str) -> None:
    """A list or a single text is none."""
    assert "`key: value`" in refusal(text, read_front_matter).hint


def test_lines_of_front_matter_are_those_of_the_text() -> None:
    """The first key stands in the second line."""
    assert read_front_matter("---\na: b\nc: d\n---\n").line("c") == 3
    assert refusal("---\na: b\nc: d: e\n---\n", read_front_matter).facts["line"] == 3


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_a_whole_number_is_heard(number: int) -> None:
    assert parse_int("size", str(number)) == number


@pytest.mark.parametrize(
    "word", ["", "many", "1.0", "1e3", "0x1F", "1_000", "٣", "9" * 17, ["1"], {}]
)
def test_what_is_no_whole_number_is_refused(word: Any) -> None:
    """Digits and a minus sign, nothing else."""
    refused = refusal(word, lambda value: parse_int("size", value, line=4))
    assert refused.message.startswith("line 4: 'size' is ")
    assert refused.message.endswith(", not a whole number")
    assert refused.message == f"line 4: {refused.facts['problem']}"
    assert refused.facts["line"] == 4


@pytest.mark.parametrize("word", ["0", "10", "-1", "x"])
def test_a_number_out_of_range_is_refused_with_the_range(word: str) -> None:
    """Nothing is clamped."""
    assert parse_int("size", "9", least=1, most=9) == 9
    refused = refusal(word, lambda value: parse_int("size", value, least=1, most=9))
    assert refused.message == f"'size' is {word!r}, not a whole number from 1 to 9"


def test_true_and_false_are_heard() -> None:
    """Two words for each, however they are spelled."""
    assert [parse_bool("on", word) for word in ("true", "Yes", "FALSE", "no")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("word", ["", "1", "on", "y", ["true"], {"true": "true"}])
def test_what_is_neither_true_nor_false_is_refused(word: Any) -> None:
    """A guess could be the wrong one."""
    assert "not true or false" in refusal(word, lambda value: parse_bool("on", value)).message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", ()),
        ("one", ("one",)),
        ("one, two,,three ", ("one", "two", "three")),
        (["one, two", " three "], ("one, two", "three")),
        ([], ()),
    ],
)
def test_words_are_heard_from_a_list_or_between_commas(value: Any, words: tuple[str, ...]) -> None:
    """Both ways of writing give the same, without blanks and empty ones."""
    assert parse_words("areas", value) == words


@pytest.mark.parametrize("value", [{"a": "b"}, ["a", ["b"]], ["a", {"b": "c"}]])
def test_what_is_no_list_of_words_is_refused(value: Any) -> None:
    """What is nested is not flattened."""
    refused = refusal(value, lambda words: parse_words("areas", words))
    assert refused.message.endswith(", not a list of texts")


def test_one_text_is_heard() -> None:
    """A list or a mapping is none; a long text is shown by its beginning."""
    assert parse_text("title", "a") == "a"
    refused = refusal("", lambda _: parse_text("title", ["a"], line=2))
    assert refused.message == "line 2: 'title' is a list, not one text"
    assert "…" in refusal("x" * 99, lambda value: parse_int("size", value)).message


def test_the_library_is_loaded_only_when_yaml_is_read() -> None:
    program = "import sys, counterpoint.kernel.yamltext; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
