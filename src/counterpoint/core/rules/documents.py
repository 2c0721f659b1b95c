"""How documents and code are cut into passages.

Where source code can be cut: where functions and classes begin.
A line begins one if and only if it has the form of a definition in one of the languages below, after at most `_WIDEST` blanks.
What stands right above it at the same depth (decorators, attributes, comments) belongs to it. Its level is its depth in blanks, a tab
being four; its title is the line without what opens the body. Nothing is parsed: a definition in a string counts too, and costs nothing.

    py pyi              class, def, async def
    js jsx ts tsx mjs   class, interface, enum, type, namespace, function, and names that are given a function
    go                  func, type
    rs                  fn, struct, enum, trait, impl, mod, union, macro_rules!
    java kt cs scala    class, interface, enum, record, object, fun, def, trait; methods with a word of access before them
    c h cc cpp hpp      struct, class, union, enum, namespace; functions that begin in the first column and open a body
    rb                  class, module, def
    php                 class, interface, trait, enum, function
    sh bash             function, name()
    sql                 CREATE …

The text of a document, line for line, and the pieces of it that are searched.

    suffix                         markup     what is done
    md, markdown                   markdown   nothing
    rst                            rst        nothing
    html, htm, xhtml               markdown   tags go; headings get `#`; scripts and styles go
    csv, tsv                       plain      a row becomes `name: value; …` with the first row's names
    py, ts, go, rs and others      code       nothing (see finding/code.py)
    anything else that is text     plain      nothing

A file is refused if and only if (1) it has a NUL byte, or (2) it is not UTF-8 (or UTF-16 with its mark). The text of a PDF
is read by the evidence port, page by page; a line before each page says its number. Lines keep their numbers: what goes leaves its line empty.

A document is cut at its headings; each section is filled into chunks of at most `size` characters, cut
at the last empty line where that leaves at least half a chunk, otherwise at a line. A chunk after the
first of a section begins with the last whole lines of the one before, at most `overlap` characters.
A line too long for a chunk is cut at its blanks, or anywhere if it has none.

Headings: in Markdown `# …` to `###### …` outside of fences, and lines above `===` or `---`; in
reStructuredText lines above a row of one sign, as long as the title; in code the lines on which functions, classes and their
like begin; in a PDF pages. A chunk carries the titles it
stands under. Its id comes from the path and its own text, so that an edit elsewhere leaves it as it is;
equal texts of one path are told apart by their order.
"""

from __future__ import annotations

import codecs
import csv
import html
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat
from typing import Final, Literal, NamedTuple

from counterpoint.kernel.errors import InvalidInput

_WIDEST: Final = 40
_READ: Final = 300
"""Letters of a line that are looked at."""
_TAB: Final = 4
_ABOVE: Final = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|--)")
_OPENS: Final = re.compile(r"\s*(?:\{.*|:\s*(?:#.*)?|=>.*|\(\s*)$")
_JS: Final = (
    r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:(?:class|interface|enum|namespace|function\*?)\s+\w"
    r"|type\s+\w+\s*(?:<[^=]{0,80})?=|(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:function|\([^)]{0,200}\)\s*(?::[^=]{0,80})?=>))"
)
_JVM: Final = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|data|async|suspend|virtual)\s+){0,6}"
    r"(?:(?:class|interface|enum|record|object|trait|fun|def)\s+\w)"
    r"|(?:(?:public|private|protected|internal)\s+)(?:[\w<>\[\],.?]+\s+){1,6}\w+\s*\("
)
_C: Final = r"(?:typedef\s+)?(?:struct|class|union|enum|namespace)\s+[\w:]+[^;]*$|(?=\w)(?:[\w:*&<>,~]+[ \t]+){1,6}[*&]*[\w:~]+\([^;]*$"
_FORMS: Final = {
    "py pyi": r"(?:async\s+)?(?:def|class)\s+\w",
    "js jsx ts tsx mjs cjs": _JS,
    "go": r"(?:func|type)\s",
    "rs": r"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*(?:fn|struct|enum|trait|impl|mod|union)\b|macro_rules!",
    "java kt cs scala": _JVM,
    "c h cc cpp hpp": _C,
    "rb": r"(?:class|module|def)\s+\w",
    "php": r"(?:(?:abstract|final|public|private|protected|static)\s+){0,4}(?:class|interface|trait|enum|function)\s+&?\w",
    "sh bash": r"(?:function\s+\w|[\w-]+\s*\(\))",
    "sql": r"(?i:CREATE)\s",
}
DEFINITIONS: Final = {
    suffix: re.compile(rf"([ \t]{{0,{_WIDEST}}})(?:{form})")
    for suffixes, form in _FORMS.items()
    for suffix in suffixes.split()
}
"""What a line that begins a definition looks like, by the suffix of the file."""


def definitions(lines: Sequence[str], form: re.Pattern[str]) -> dict[int, tuple[int, str]]:
    """Return level and title of each definition, by the place of its first line, counted from 0."""
    titles: dict[int, tuple[int, str]] = {}
    for index, line in enumerate(lines):
        begun = form.match(line[:_READ])
        if begun is None:
            continue
        depth = len(begun[1].expandtabs(_TAB))
        first = index
        while first and first - 1 not in titles and _belongs(lines[first - 1][:_READ], depth):
            first -= 1
        titles[first] = (depth + 1, _OPENS.sub("", line[:_READ].strip())[:120])
    return titles


def _belongs(line: str, depth: int) -> bool:
    """Return whether a line belongs to the definition below it."""
    blank = line[: len(line) - len(line.lstrip())]
    return len(blank.expandtabs(_TAB)) in {depth, depth + 1} and _ABOVE.match(line) is not None


Markup = Literal["markdown", "rst", "plain", "code", "pages"]
SIZE = 1_200
OVERLAP = 150
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_RULER = re.compile(r"([=\-~^\"'`:.*+#_])\1{2,}[ \t]*")
_DEPTH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document, from one line to another, both counted from 1 and included.

    headings: the titles above it, outermost first.
    """

    text: str
    headings: tuple[str, ...] = ()
    first_line: int
    last_line: int


class _Line(NamedTuple):
    number: int
    text: str


@dataclass(slots=True)
class _Section:
    headings: tuple[str, ...] = ()
    lines: list[_Line] = field(default_factory=list["_Line"])


def cut(
    text: str,
    *,
    markup: Markup = "plain",
    suffix: str = "",
    size: int = SIZE,
    overlap: int = OVERLAP,
) -> list[Chunk]:
    """Return the chunks of a document in order; an empty one has none. suffix: of the file, for code."""
    chunks: list[Chunk] = []
    lines = text.split("\n")
    if markup == "code":
        titles = definitions(lines, DEFINITIONS[suffix])
    else:
        titles = {} if markup == "plain" else _TITLES[markup](lines)
    for section in _sections(lines, titles):
        # With room for what a chunk repeats of the one before it.
        lines = [part for line in section.lines for part in _parts(line, size - overlap - 1)]
        chunks += [_chunk(piece, section.headings) for piece in _pieces(lines, size, overlap)]
    return chunks


def _chunk(piece: Sequence[_Line], headings: tuple[str, ...]) -> Chunk:
    text = piece[0].text
    for before, line in pairwise(piece):
        text += ("\n" if line.number > before.number else "") + line.text
    return Chunk(
        text=text,
        headings=headings,
        first_line=piece[0].number,
        last_line=piece[-1].number,
    )


def _sections(lines: Sequence[str], titles: Mapping[int, tuple[int, str]]) -> Iterator[_Section]:
    """Return the sections of a document; each begins with its heading.

    titles: level and words of each line that is a heading, by its place.
    """
    section = _Section()
    trail: list[tuple[int, str]] = []
    for index, line in enumerate(lines):
        if index in titles:
            yield section
            level, title = titles[index]
            trail = [*(part for part in trail if part[0] < level), (level, title)]
            section = _Section(headings=tuple(name for _, name in trail))
        section.lines.append(_Line(index + 1, line.rstrip()))
    yield section


def _markdown_titles(lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return level and title of each line that is a heading, by its place."""
    titles: dict[int, tuple[int, str]] = {}
    fence = ""
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (match := _HEADING.fullmatch(line)):
            titles[index] = (len(match[1]), _unclosed(match[2]))
        elif not fence and (sign := _ruler(lines, index)) and sign in "=-":
            titles[index] = ("=-".index(sign) + 1, line.strip())
    return titles


def _unclosed(words: str) -> str:
    """Return the words of a heading without the signs that may close it."""
    title = words.strip(" \t")
    before = title.rstrip("#")
    return before.rstrip(" \t") if before[-1:] in {" ", "\t"} else title


def _rst_titles(lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return level and title of each line above a row of signs; signs rank as they come."""
    titles: dict[int, tuple[int, str]] = {}
    signs: list[str] = []
    for index, line in enumerate(lines):
        sign = _ruler(lines, index)
        if sign and len(lines[index + 1].strip()) >= len(line.strip()):
            signs += [] if sign in signs else [sign]
            titles[index] = (min(signs.index(sign) + 1, _DEPTH), line.strip())
    return titles


def _page_titles(lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return the lines on which pages begin: only that of the next one counts, whatever a page says itself."""
    titles: dict[int, tuple[int, str]] = {}
    for index, line in enumerate(lines):
        if line == _page(len(titles) + 1):
            titles[index] = (1, f"page {len(titles) + 1}")
    return titles


def from_pages(pages: Sequence[str]) -> Extracted:
    """Return the text of a document of pages; a line before each says its number."""
    text = "\n".join(f"{_page(number)}\n{page}" for number, page in enumerate(pages, 1))
    return Extracted(text=text.replace("\r\n", "\n").replace("\r", "\n"), markup="pages")


def _page(number: int) -> str:
    return f"[page {number}]"


_TITLES = {"markdown": _markdown_titles, "rst": _rst_titles, "pages": _page_titles}


def _ruler(lines: Sequence[str], index: int) -> str:
    """Return the sign of the row below a line that can be a title; empty if there is none."""
    line, above = lines[index], lines[index - 1] if index else ""
    below = lines[index + 1] if index + 1 < len(lines) else ""
    is_title = bool(line.strip()) and not line[0].isspace() and not _RULER.fullmatch(line)
    # A title stands alone: between two lines of text a row of signs is a table or a rule.
    is_alone = not above.strip() or _RULER.fullmatch(above) is not None
    match = _RULER.fullmatch(below) if is_title and is_alone else None
    return match[1] if match else ""


def _parts(line: _Line, most: int) -> Iterator[_Line]:
    """Return a line in parts of at most so many characters, cut after blanks where there are any."""
    text, start = line.text, 0
    while len(text) - start > most:
        blank = text.rfind(" ", start + most // 2, start + most)
        end = blank + 1 if blank >= 0 else start + most
        yield _Line(line.number, text[start:end])
        start = end
    yield _Line(line.number, text[start:])


def _pieces(lines: Sequence[_Line], size: int, overlap: int) -> Iterator[Sequence[_Line]]:
    """Return runs of lines that fit into a chunk, each but the first with the end of the last."""
    start = 0
    while start < len(lines):
        end = _reach(lines, start, size)
        if end < len(lines):
            end = _at_paragraph(lines, start, end)
        piece = _trimmed(lines[start:end])
        if piece:
            yield piece
        if end == len(lines):
            return
        start = _back(lines, start, end, overlap)


def _reach(lines: Sequence[_Line], start: int, size: int) -> int:
    """Return up to where lines from `start` fit, at least one."""
    end, used = start, -1
    while end < len(lines) and used + 1 + len(lines[end].text) <= size:
        used += 1 + len(lines[end].text)
        end += 1
    return end


def _at_paragraph(lines: Sequence[_Line], start: int, end: int) -> int:
    """Return the last empty line of the second half, or the end."""
    half = start + (end - start + 1) // 2
    return next((index for index in range(end, half - 1, -1) if not lines[index].text), end)


def _back(lines: Sequence[_Line], start: int, end: int, overlap: int) -> int:
    """Return where the next chunk begins, so that it repeats at most so many characters."""
    index, used = end, 0
    while index - 1 > start and used + len(lines[index - 1].text) + 1 <= overlap:
        index -= 1
        used += len(lines[index].text) + 1
    return index


def _trimmed(lines: Sequence[_Line]) -> Sequence[_Line]:
    """Return lines without the empty ones at both ends."""
    full = [index for index, line in enumerate(lines) if line.text.strip()]
    return lines[full[0] : full[-1] + 1] if full else ()


_MARKUPS: dict[str, Markup] = {
    "md": "markdown",
    "markdown": "markdown",
    "rst": "rst",
    "html": "markdown",
    "htm": "markdown",
    "xhtml": "markdown",
}
_PAGES = frozenset({"html", "htm", "xhtml"})
_TABLES = {"csv": ",", "tsv": "\t"}
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg"})
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
_REST_OF_TAG = re.compile(r"""(?:[^"'>]|"[^"]*"|'[^']*')*+>""")
_RAW = {name: re.compile(rf"</{name}[\s/>]", re.IGNORECASE) for name in ("script", "style")}
_NUMBER = re.compile("&#[xX]?[0-9a-fA-F]{9,};?")
_PDF = b"%PDF-"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text of a document, line breaks as in Unix, and how its headings are written."""

    text: str
    markup: Markup


def extract(path: str, content: bytes) -> Extracted:
    """Return the text of a file; InvalidInput if it is not text."""
    suffix = suffix_of(path)
    text = _decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")
    if suffix in _PAGES:
        text = _Page(text).read()
    elif suffix in _TABLES:
        text = _plain_table(text, _TABLES[suffix])
    markup = "code" if suffix in DEFINITIONS else _MARKUPS.get(suffix, "plain")
    return Extracted(text=text, markup=markup)


def suffix_of(path: str) -> str:
    """Return what stands behind the last point of a file's name, in small letters."""
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def is_pdf(content: bytes) -> bool:
    """Return whether a file begins as a PDF does."""
    return content.startswith(_PDF)


def _decoded(path: str, content: bytes) -> str:
    # UTF-16 is full of NUL bytes: it is asked for before these are taken for a binary file.
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8-sig"
    is_binary = b"\0" in content and encoding != "utf-16"
    if not is_binary and not is_pdf(content):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            pass  # said below, in the same words as for every other file that is no text
    raise InvalidInput(
        f"{path} is not text",
        hint="Give a text file in UTF-8: txt, md, rst, code, json, html, csv.",
    )


class _Page:
    """What is read of a page: the visible text of each line.

    A tag or comment that does not end takes the rest of the page with it, so that nothing is looked at twice.
    """

    def __init__(self, text: str) -> None:
        """Begin at the first line."""
        self._text = text
        self._line = 0
        self._hidden = 0
        self._lines: dict[int, list[str]] = {}

    def read(self) -> str:
        """Return the visible text, line for line."""
        text, at = self._text, 0
        while at < len(text):
            begin = text.find("<", at)
            begin = begin if begin >= 0 else len(text)
            self._say(text[at:begin])
            at = self._pass(begin) if begin < len(text) else begin
            self._line += text.count("\n", begin, at)
        count = text.count("\n") + 1
        lines = ("".join(self._lines.get(number, ())) for number in range(count))
        return "\n".join(" ".join(line.split()) for line in lines)

    def _pass(self, begin: int) -> int:
        """Hear what begins with `<`, and return where the text goes on."""
        text = self._text
        if text.startswith("<!--", begin):
            return _behind(text, "-->", begin + 4)
        if text.startswith(("<!", "<?"), begin):
            return _behind(text, ">", begin)
        if not (tag := _TAG.match(text, begin)):
            self._say("<")
            return begin + 1
        ended = _REST_OF_TAG.match(text, tag.end())
        if not ended:
            return len(text)
        name = tag[2].lower()
        if tag[1]:
            # Pages end what they never began.
            self._hidden = max(0, self._hidden - (name in _HIDDEN))
        else:
            self._open(name)
        if name not in _RAW or tag[1]:
            return ended.end()
        last = _RAW[name].search(text, ended.end())
        return last.start() if last else len(text)

    def _open(self, name: str) -> None:
        """Mark a heading, keep cells and points apart, begin what is not seen."""
        self._hidden += name in _HIDDEN
        if name in {"h1", "h2", "h3", "h4", "h5", "h6"} and not self._hidden:
            self._add("#" * int(name[1]) + " ")
        elif name in {"td", "th", "li", "br"} and not self._hidden:
            self._add(" ")

    def _say(self, raw: str) -> None:
        """Take visible text, line by line."""
        for index, part in enumerate(raw.split("\n")):
            self._line += index > 0
            if part and not self._hidden:
                self._add(_unescaped(part))

    def _add(self, text: str) -> None:
        self._lines.setdefault(self._line, []).append(text)


def _behind(text: str, end: str, start: int) -> int:
    at = text.find(end, start)
    return at + len(end) if at >= 0 else len(text)


def _unescaped(text: str) -> str:
    """Return a text with the characters that its entities stand for."""
    # A number of thousands of digits is none, and would be refused.
    return html.unescape(_NUMBER.sub("", text) if "&#" in text else text)


def _plain_table(text: str, mark: str) -> str:
    """Return rows in words; a table that cannot be read stays as it is.

    Line breaks inside of a cell become blanks.
    """
    rows = csv.reader(io.StringIO(text), delimiter=mark)
    lines = [""] * (text.count("\n") + 1)
    names: list[str] = []
    before = 0
    try:
        for row in rows:
            cells = [" ".join(cell.split()) for cell in row]
            lines[before] = _named(names, cells) if names else "; ".join(cells)
            names = names or cells
            before = rows.line_num
    except csv.Error:
        return text
    return "\n".join(lines)


def _named(names: list[str], cells: list[str]) -> str:
    """Return one row with the names of its columns."""
    pairs = zip(chain(names, repeat("")), cells, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
