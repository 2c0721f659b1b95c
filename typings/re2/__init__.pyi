# The part of google-re2 that is used: the package brings no types.

from collections.abc import Callable

class error(Exception): ...  # noqa: N801  the library's own name

class Options:
    log_errors: bool
    never_capture: bool
    literal: bool
    case_sensitive: bool

class Match:
    def start(self) -> int: ...
    def end(self) -> int: ...
    def group(self, group: int) -> str | None: ...

class Pattern:
    programsize: int
    groups: int
    groupindex: dict[str, int]
    def fullmatch(self, text: bytes) -> Match | None: ...
    def subn(self, repl: Callable[[Match], str], text: str) -> tuple[str, int]: ...

def compile(pattern: str, options: Options | None = None) -> Pattern: ...  # noqa: A001  as in `re`
