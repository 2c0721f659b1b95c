"""How pages show texts and code: as structure and colours, and never as markup of somebody else's."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from counterpoint.board.colours import Colours, language_of
from counterpoint.board.hunks import MAX_COLOURED, parse_diff
from counterpoint.board.markdown import MAX_PAGE_CHARACTERS, PageProse
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note

TEXT = """# Why

The *mast* is **weak**, see [the report](https://example.com/a?b=1&c=2) and `mast.py`.

| Part | State |
|------|------:|
| oak  | `dry` |

- [x] cut
- [ ] planed

```python
<b>oak</b>
```
"""


def test_texts_have_the_structure_that_was_typed() -> None:
    markup = str(PageProse().block(TEXT))
    for part in (
        "<h3>Why</h3>",
        "<em>mast</em> is <strong>weak</strong>",
        '<a href="https://example.com/a?b=1&amp;c=2" rel="noopener noreferrer nofollow">the report</a>',
        '<span class="target">(https://example.com/a?b=1&amp;c=2)</span>',
        '<th scope="col">State</th>',
        "<td><code>dry</code></td>",
        "<li>☑ cut</li>",
        "<li>☐ planed</li>",
        "<pre><code>&lt;b&gt;oak&lt;/b&gt;\n</code></pre>",
    ):
        assert part in markup
    assert PageProse().line("say `no` <i>") == "say <code>no</code> &lt;i&gt;"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "![picture](https://example.com/track.png)",
        "![picture][there]\n\n[there]: https://example.com/track.png",
        "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](file:///etc/passwd)",
        "[log out](/logout) [other](//example.com/x) [up](../acts/approve/demo-1)",
        '[a](https://example.com/"onmouseover="alert(1))',
        "<javascript:alert(1)> <https://example.com/\u202e>",
        "[a](https://example.com 'x\" onclick=\"alert(1)')",
        '```x" onclick="alert(1)\ncode\n```',
        "&#x202e;&#8203; &lt;script&gt; \u202e",
        "| a |\n|:-:|\n| <img src=x onerror=alert(1)> |",
    ],
)
def test_no_text_is_markup_loads_anything_or_leads_into_the_board(text: str) -> None:
    for markup in (str(PageProse().block(text)), str(PageProse().line(text))):
        assert not re.search(r"<(script|img|iframe|svg)", markup)
        assert not re.search(r"<[^>]*\s(on\w+|style|src)=", markup)
        assert all(
            target.startswith(("https://", "http://", "mailto:"))
            for target in re.findall(r'href="([^"]*)"', markup)
        )
        assert not re.search("[\u202e\u200b]", markup)


@pytest.mark.parametrize(
    "text",
    [
        "> " * 1_000 + "deep",
        "".join("  " * level + "- deep\n" for level in range(1_000)),
        "[" * 1_000_000,
        "a|" * 500_000,
        "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|\n" * 9_000,
        "*a_ " * 250_000,
        "<http://a> " * 100_000,
    ],
)
def test_deep_and_long_texts_are_bounded(text: str) -> None:
    page = PageProse()
    markup = [str(page.block(text)) for _ in range(40)]
    assert max(markup[0].count(f"<{name}") for name in ("blockquote", "ul", "td")) <= 2_000
    # What is beyond what a page parses stands as it was typed.
    assert 'class="text"' in markup[-1] or len(text) * 40 <= MAX_PAGE_CHARACTERS


def test_code_has_the_colours_of_its_language() -> None:
    python = language_of("src/mast.py")
    assert python is not None
    colours = Colours(python)
    assert colours.pieces("def lay(x1):  # 'keel'") == [
        ("keyword", "def"),
        ("", " lay(x1):  "),
        ("comment", "# 'keel'"),
    ]
    lines = ["    '''Lay it", "for 12", "down.''' + \"a\\\"b\" + 12"]
    kinds = [[kind for kind, _ in colours.pieces(line)] for line in lines]
    assert kinds == [["", "string"], ["string"], ["string", "", "string", "", "number"]]
    assert language_of("README") is None
    sql = language_of("a.sql")
    assert sql is not None
    assert Colours(sql).pieces("SELECT /* x */ y") == [
        ("keyword", "SELECT"),
        ("", " "),
        ("comment", "/* x */"),
        ("", " y"),
    ]


@pytest.mark.parametrize("name", ["a.py", "a.ts", "a.sql", "a.html", "Makefile", "a.css", "a.json"])
@pytest.mark.parametrize(
    "part", ['"', "'''", "`", '\\"', "a b ", "/*", "/**/", "<!--", "1a", "\x1b"]
)
def test_the_pieces_of_a_difference_are_its_lines(name: str, part: str) -> None:
    text = (
        f"diff --git a/{name} b/{name}\n@@ -1 +1 @@\n" + f"+{part * 90}\n {part}x\n-{part}\n" * 500
    )
    files, _ = parse_diff(text)
    for line in files[0].lines:
        assert "".join(text for _, text in line.pieces) == line.text
    assert files[0].lines[-1].pieces == [("", files[0].lines[-1].text)] or len(text) < MAX_COLOURED


def test_a_review_has_texts_as_markdown_and_code_in_colours(
    visit: Callable[..., Any], person: Core, ada: Core
) -> None:
    made = ada.plans.create(
        Draft(
            kind="plan", title="*Ship*", body=TEXT,
            children=(Draft(kind="phase", title="Launch", body="**soon**", acceptance=("`make` runs",),
                children=(Draft(kind="task", title="Sail"),)),),
        )
    )  # fmt: skip
    root, phase, _task = (item.id for item in made.items)
    ada.journal.append(Note(kind="decision", title="Oak", body="Use *oak*.", item=phase))
    change = SimpleNamespace(
        text='diff --git a/a.py b/a.py\n@@ -1 +1 @@\n+return "<b>"\n', stands="done", by="ada",
        start="1" * 40, end="2" * 40, count=1, since=(), files=[],
    )  # fmt: skip
    browser = visit(person, change)
    page = browser.get(f"/review/{phase}").text
    for part in (
        "<strong>soon</strong>",
        "<code>make</code> runs",
        "Use <em>oak</em>.",
        '<i class="keyword">return</i> <i class="string">&#34;&lt;b&gt;&#34;</i>',
    ):
        assert part in page
    page = browser.get(f"/items/{root}").text
    assert "<h3>Why</h3>" in page
    # Titles are plain.
    assert '<h1 dir="auto">*Ship*</h1>' in page
