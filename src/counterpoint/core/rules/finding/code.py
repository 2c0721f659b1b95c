"""Where source code can be cut: where functions and classes begin.

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
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
