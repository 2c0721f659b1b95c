"""What would steer or hide is shown, whatever it stands in; what people write with stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.visible import (
    checked_name,
    dump_visible,
    escaped,
    is_name,
    label,
    may_hide,
    visible,
)

HIDDEN = {
    "\x1b[31mred": "\\u{1b}[31mred",
    "file\u202egnp.exe": "file\\u{202e}gnp.exe",
    "\u2066in\u2069": "\\u{2066}in\\u{2069}",
    "a\u200bb\ufeff": "a\\u{200b}b\\u{feff}",
    "see\U000e0073\U000e007f": "see\\u{e0073}\\u{e007f}",
    "x\ry\x00\x7f\x9b": "x\\u{d}y\\u{0}\\u{7f}\\u{9b}",
    "a\u200db": "a\\u{200d}b",
    "\u00e9\ufe0f\ufe0f": "\u00e9\\u{fe0f}\\u{fe0f}",
    "\ud800": "\\u{d800}",
}
WRITTEN = (
    "plain", "two\r\nlines\n\tand a tab", "\u2764\ufe0f\u200d\U0001f525", "1\ufe0f\u20e3",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u00fcber \u2014 \u4e2d",
)  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), HIDDEN.items(), ids=ascii)
def test_what_steers_or_hides_is_shown(text: str, shown: str) -> None:
    """In texts and names of an answer to an agent; to programs the escapes of JSON bring it as it was."""
    assert visible(text) == shown
    assert visible(shown) == shown
    if "\ud800" in text:
        return
    answer, document = dump_visible({text: [text, {"deep": (text, 1, None)}]})
    assert answer == json.loads(document) == {shown: [shown, {"deep": [shown, 1, None]}]}
    plain = json.dumps({"title": text}, ensure_ascii=False)
    assert visible(escaped(plain)) == escaped(plain)
    assert json.loads(escaped(plain)) == {"title": text}


@pytest.mark.parametrize("text", WRITTEN, ids=ascii)
def test_what_people_write_with_stays(text: str) -> None:
    """Pictures of several signs, scripts that need a joiner, ends of lines."""
    assert visible(text) == text
    value = {"title": text}
    assert dump_visible(value)[0] == value


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    document = json.dumps(text, ensure_ascii=False)
    if not may_hide(document):
        assert visible(document) == document


@pytest.mark.parametrize(
    "name", ["ada", "Visual Studio Code", "Zo\u00eb", "\u4e2d\u6587", "a" * 64]
)
def test_a_name_can_be_said_and_seen(name: str) -> None:
    """In any script."""
    assert checked_name(name, "--agent") == label(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ada", "ada\n", "a" * 65, "ad\u200ba", "ada\u202e", "Zoe\u0308", "a\tb", "\ue000", "\x1b[2J", "\u0378"],
    ids=ascii,
)  # fmt: skip
def test_what_nobody_can_see_or_tell_apart_is_no_name(name: str) -> None:
    """The refusal shows it; of a client that calls itself so a name is made."""
    assert not is_name(name)
    with pytest.raises(InvalidInput) as caught:
        checked_name(name, "--agent")
    assert visible(caught.value.message) == caught.value.message
    assert visible(label(name)) == label(name)
