"""Text of documents: what goes, what stays, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.documents import cut, extract
from counterpoint.kernel.errors import InvalidInput

PAGE = """<!doctype html>
<html><head><title>T</title><style>p { color: red }</style>
<script>
if (a < b) alert("no");
</script></head>
<body><h1>Retry &amp; wait</h1>
<p>Use <b>exponential</b>
back-off &lt;2 s.</p><ul><li>one</li><li>two</li></ul>
<svg><h2>hidden</h2><td>x</td></svg></svg><h2>After</h2><hr><table><tr><td>a</td><td>b</td></tr></table>
"""


@pytest.mark.parametrize(
    ("path", "markup"),
    [
        ("a.md", "markdown"), ("a.py", "code"), ("docs/a.MARKDOWN", "markdown"), ("a.rst", "rst"), ("a.txt", "plain"),
     ("a.json", "plain"), ("README", "plain"), ("x.html/README", "plain"),
    ],
)  # fmt: skip
def test_plain_texts_stay_as_they_are(path, markup):
    """Only line breaks become those of Unix, and a byte order mark goes."""
    found = extract(path, "\ufeff# é\r\nb\rc\n\x0cd\u2028e".encode())
    assert (found.text, found.markup) == ("# é\nb\nc\n\x0cd\u2028e", markup)
    assert extract(path, "é\n".encode("utf-16")).text == "é\n"


def test_a_page_keeps_its_words_and_lines():
    """Tags, scripts, styles and drawings go; headings are marked; lines keep their numbers."""
    found = extract("a.html", PAGE.encode())
    assert found.markup == "markdown"
    assert found.text.split("\n") == [
        "", "T", "", "", "", "# Retry & wait", "Use exponential", "back-off <2 s. one two",
        "## After a b", "",
    ]  # fmt: skip
    assert cut(found.text, markup=found.markup)[1].headings == ("Retry & wait",)


@given(text=st.text(st.sampled_from("<>!/-[]&;#\"'= \nh1scriptCDATA?")))
def test_any_page_is_read(text):
    """However broken; it has as many lines as the file."""
    assert extract("a.html", text.encode()).text.count("\n") == text.count("\n")


def test_a_table_becomes_words():
    """Each row with the names of its columns, at its own line; empty cells go."""
    content = b'name,port,note\nweb,80,\n"api\nv2",8080,"a ""b""",extra\n\nlast,1,x\n'
    assert extract("a.csv", content).text.split("\n") == [
        "name; port; note", "name: web; port: 80", 'name: api v2; port: 8080; note: a "b"; extra', "",
        "", "name: last; port: 1; note: x", "",
    ]  # fmt: skip
    assert extract("a.tsv", b"a\tb\n1\t2").text == "a; b\na: 1; b: 2"


@given(text=st.text(st.sampled_from('a,"\n\t \x0b')))
def test_any_table_is_read(text):
    """It has as many lines as the file."""
    assert extract("a.csv", text.encode()).text.count("\n") == text.count("\n")


def test_a_table_that_cannot_be_read_stays_as_it_is():
    """A field may be too long to be one."""
    content = "a,b\n" + "x" * 200_000
    assert extract("a.csv", content.encode()).text == content


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0", b"%PDF-1.7 text", b"a\0b", b"caf\xe9", b"\xff\xfea"]
)
def test_what_is_not_text_is_refused(content):
    """NUL bytes, PDF, other encodings."""
    with pytest.raises(InvalidInput) as refusal:
        extract("docs/x.txt", content)
    assert "docs/x.txt is not text" in refusal.value.message
