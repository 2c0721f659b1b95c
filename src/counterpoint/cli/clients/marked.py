"""A section of a Markdown file between two marks, which alone is ours."""

from __future__ import annotations

from typing import Final

from counterpoint.kernel.errors import MalformedDocument

BEGIN: Final = "<!-- counterpoint:begin -->"
END: Final = "<!-- counterpoint:end -->"

GUIDE: Final = """\
## Working with Counterpoint

This project's plans, decisions and evidence are kept by the MCP server `counterpoint`.

- Begin with `brief`; take work with `next` (`claim: true`) or `start`, one task at a time.
- Write down decisions, findings and blockers with `note` when they happen, not at the end.
- Run checks with `verify`: only what the server ran counts as evidence. Then call `finish`.
- A refusal says what to do next in `hint`. Lost the claim? Stop, and take other work.
- Before you stop, or when your context runs short, call `handoff` with what comes next.
"""


def set_section(text: str, body: str) -> str:
    """Return the text with our section in it, in its old place or at the end.

    MalformedDocument if the marks do not stand once each and in order.
    """
    section = f"{BEGIN}\n{body.strip()}\n{END}"
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{section}\n"
    begin, end = text.find(BEGIN), text.find(END)
    if (begins, ends) != (1, 1) or end < begin:
        raise MalformedDocument(f"the marks {BEGIN} and {END} do not stand once each, in order")
    return text[:begin] + section + text[end + len(END) :]
