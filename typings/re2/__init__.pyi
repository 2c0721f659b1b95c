# The part of google-re2 that is used: the package brings no types.

class error(Exception): ...  # noqa: N801  the library's own name

class Options:
    log_errors: bool
    never_capture: bool

class Match: ...

class Pattern:
    programsize: int
    def fullmatch(self, text: bytes) -> Match | None: ...

def compile(pattern: str, options: Options | None = None) -> Pattern: ...  # noqa: A001  as in `re`
