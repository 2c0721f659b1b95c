"""Commands of other tools, and what to type here in place of each.

Rules: (1) nothing is run, since a guess must not change work; (2) what was typed comes back in the line to type: ids, texts and
the options that our command has; (3) an option that it lacks is named, and so is a word that it does not take; (4) one line for
each id where our command takes one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import click

from counterpoint.kernel.errors import InvalidInput


class Translation(NamedTuple):
    """What to type for a foreign command.

    line: our command; `{id}`, `{other}` and `{text}` stand for what was typed.
    otherwise: a second line, for what else the word may have meant; may be empty. with_id: the line where an id was typed.
    bare: what the line ends with where no option was typed, which would change nothing.
    """

    line: str
    otherwise: str = ""
    with_id: str = ""
    bare: str = ""


_CREATE: Final = Translation("add {text}")
_CLOSE: Final = Translation(
    "finish {id} --summary {text}", "edit {id} --status cancelled --reason {text}"
)
_CANCEL: Final = Translation("edit {id} --status cancelled --reason {text}")
_COMMENT: Final = Translation("note {id} {text}")
_SHOW: Final = Translation("show {id}")
_LIST: Final = Translation("list", with_id="list --root {id}")
_SEARCH: Final = Translation("find {text}")
_CLAIM: Final = Translation("start {id}")
_EDIT: Final = Translation("edit {id}", bare=" --title {text}")
_STATUS: Final = Translation("status", with_id="show {id}")
_LOG: Final = Translation("log", with_id="log --item {id}")
_WATCH: Final = Translation("top", "status", with_id="log --item {id} --follow")
_CONFIG: Final = Translation("trust", "policy")
_RUN: Final = Translation("check {id}", "supervise {id} -- AGENT")
_BOARD: Final = Translation("board", "top")
_DEPEND: Final = Translation("edit {id} --after {other}")
_ASSIGN: Final = Translation("edit {id} --assignee {text}")
_LABEL: Final = Translation("edit {id} --add-label {text}")
_REOPEN: Final = Translation("reopen {id}")
_RELEASE: Final = Translation("release {id}")
_CHECK: Final = Translation("check {id}")

FOREIGN_COMMANDS: Final[Mapping[str, Translation]] = {
    "new": _CREATE,
    "create": _CREATE,
    "add-task": _CREATE,
    "todo": Translation("add {text}", "list"),
    "add-subtask": Translation("add {text} --parent {id}"),
    "ready": Translation("next", with_id="next --root {id}"),
    "close": _CLOSE,
    "done": _CLOSE,
    "complete": _CLOSE,
    "resolve": _CLOSE,
    "delete": _CANCEL,
    "remove": _CANCEL,
    "rm": _CANCEL,
    "cancel": _CANCEL,
    "archive": _CANCEL,
    "remove-task": _CANCEL,
    "drop": Translation(_RELEASE.line, _CANCEL.line),
    "comment": _COMMENT,
    "comments": _SHOW,
    "search": _SEARCH,
    "grep": _SEARCH,
    "query": _SEARCH,
    "tree": Translation("list --root {id}", "list"),
    "ls": _LIST,
    "tasks": _LIST,
    "items": _LIST,
    "issues": _LIST,
    "backlog": _LIST,
    "claim": _CLAIM,
    "take": _CLAIM,
    "pick": _CLAIM,
    "begin": _CLAIM,
    "work": Translation("start {id}", "next"),
    "unclaim": _RELEASE,
    "free": _RELEASE,
    "abandon": _RELEASE,
    "review": Translation("approve {id}", "reject {id} --reason {text}"),
    "accept": Translation("approve {id}"),
    "merge": Translation("approve {id}"),
    "assign": _ASSIGN,
    "unassign": Translation("edit {id} --assignee ''"),
    "dashboard": _BOARD,
    "browser": _BOARD,
    "ui": _BOARD,
    "web": _BOARD,
    "undo": Translation("reopen {id}", "log"),
    "revert": Translation("reopen {id}", "log"),
    "rollback": Translation("reopen {id}", "log"),
    "task": Translation("show {id}", "list --kind task"),
    "task create": _CREATE,
    "task add": _CREATE,
    "task list": _LIST,
    "task view": _SHOW,
    "task show": _SHOW,
    "task edit": _EDIT,
    "task update": _EDIT,
    "task archive": _CANCEL,
    "task delete": _CANCEL,
    "task start": _CLAIM,
    "task done": _CLOSE,
    "task close": _CLOSE,
    "update": _EDIT,
    "update-task": _EDIT,
    "update-subtask": _COMMENT,
    "set": _EDIT,
    "set-status": Translation("edit {id} --status {text}"),
    "rename": Translation("edit {id} --title {text}"),
    "priority": Translation("edit {id} --priority {other}"),
    "move": Translation("edit {id} --parent {other}"),
    "mv": Translation("edit {id} --parent {other}"),
    "label": _LABEL,
    "label add": _LABEL,
    "label remove": Translation("edit {id} --remove-label {text}"),
    "tag": _LABEL,
    "block": Translation("note {id} {text} --kind blocker"),
    "blocked": _STATUS,
    "dep": _DEPEND,
    "dep add": _DEPEND,
    "dep remove": Translation("edit {id} --not-after {other}"),
    "dep tree": _SHOW,
    "depend": _DEPEND,
    "depends": _DEPEND,
    "link": _DEPEND,
    "add-dependency": _DEPEND,
    "remove-dependency": Translation("edit {id} --not-after {other}"),
    "view": _SHOW,
    "get": _SHOW,
    "cat": _SHOW,
    "open": Translation(_SHOW.line, _REOPEN.line),
    "describe": _SHOW,
    "info": Translation("show {id}", "status"),
    "history": _LOG,
    "activity": _LOG,
    "events": _LOG,
    "timeline": _LOG,
    "tail": Translation("log --follow", with_id="log --item {id} --follow"),
    "watch": _WATCH,
    "stats": _STATUS,
    "summary": _STATUS,
    "progress": _STATUS,
    "overview": _STATUS,
    "blockers": _STATUS,
    "stale": _STATUS,
    "who": _STATUS,
    "whoami": _STATUS,
    "brief": Translation("prime", "status", with_id="show {id}"),
    "decide": Translation("note {text} --kind decision"),
    "decision": Translation("note {text} --kind decision"),
    "learn": Translation("note {text} --kind learning"),
    "remember": Translation("note {text} --kind learning"),
    "finding": Translation("note {text} --kind finding"),
    "milestone": Translation("note {text} --kind milestone"),
    "parse-prd": Translation("plan {text}"),
    "apply": Translation("plan {text}"),
    "expand": Translation("add {text} --parent {id}"),
    "epic": Translation("add {text} --kind phase"),
    "epic create": Translation("add {text} --kind phase"),
    "epic list": _LIST,
    "run": _RUN,
    "exec": _RUN,
    "test": _CHECK,
    "validate": Translation("check {id}", "doctor"),
    "prove": Translation("audit verify"),
    "proof": Translation("audit verify"),
    "config": _CONFIG,
    "settings": _CONFIG,
    "configure": Translation("init"),
    "setup": Translation("init"),
    "install": Translation("init"),
    "uninstall": Translation("init --remove"),
    "server": Translation("up"),
    "stop": Translation("down"),
    "shutdown": Translation("down"),
    "sync": Translation("export", "status"),
    "dump": Translation("export"),
    "pause": Translation("handoff pause --summary {text}", with_id="release {id}"),
    "resume": Translation("handoff resume", with_id="start {id}"),
    "continue": Translation("handoff continue {text}", "start {id}"),
}
"""Words of beads, task-master, Backlog.md, GitHub's `gh` and ordinary habit; two words before one."""

_TEXT_OPTIONS: Final = frozenset({"--message", "--reason", "--notes", "--summary", "--body"}) | {
    "--comment",
    "--title",
    "-m",
    "-b",
    "-r",
    "-t",
}
"""Options whose value is the text of a foreign command."""
_LONG_OPTIONS: Final[Mapping[str, str]] = {
    "-p": "--priority",
    "-l": "--label",
    "-a": "--assignee",
    "-s": "--status",
    "--desc": "--description",
    "--labels": "--label",
    "--depends-on": "--after",
    "--deps": "--after",
    "--dep": "--after",
}
"""What other tools call options that ours have under another name."""
ITEM_ID: Final = re.compile(r"#?\d+|(?=[^\s/]*\d)[A-Za-z0-9_]+([-.][A-Za-z0-9]+)+")
"""A number, or a word with a number behind a hyphen or a full stop."""


class _Typed(NamedTuple):
    """What stood behind a foreign command. options: as our command has them; unknown: those that it lacks."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    options: tuple[str, ...]
    unknown: tuple[str, ...]


def translate(arguments: Sequence[str], commands: click.Group) -> InvalidInput | None:
    """Return the refusal of a foreign command, whose hint is the line to type; None for any other word."""
    spellings = (" ".join(arguments[:count]) for count in (2, 1))
    words = next((spelling for spelling in spellings if spelling in FOREIGN_COMMANDS), "")
    if not words:
        return None
    translation = FOREIGN_COMMANDS[words]
    behind = arguments[len(words.split()) :]
    template = translation.line
    typed = _read_typed(template, behind, _options_of(template, commands))
    if typed.ids and translation.with_id:
        template = translation.with_id
    elif not typed.options:
        template += translation.bare
    lines, unused = _lines_to_type(template, behind, commands)
    otherwise = translation.otherwise
    alternatives = _lines_to_type(otherwise, behind, commands)[0] if otherwise else []
    hint = [
        "Type:",
        *(f"  {line}" for line in lines),
        *(["or:"] if alternatives else []),
        *(f"  {line}" for line in alternatives),
        *([f"It has no {', '.join(unused)}."] if unused else []),
    ]
    return InvalidInput(
        f"`{words}` is a word of other tools, so nothing was done", hint="\n".join(hint)
    )


def _lines_to_type(
    template: str, behind: Sequence[str], commands: click.Group
) -> tuple[list[str], list[str]]:
    """Return our lines for a template, one for each id, and what was typed that they have no place for."""
    typed = _read_typed(template, behind, _options_of(template, commands))
    texts, ids = typed.texts, typed.ids
    if "{id}" not in template and "{text}" in template:
        # An id is a text where no item is meant.
        texts, ids = (*ids, *texts), ()
    if "{id}" in template and not ids and texts and "{text}" not in template:
        ids, texts = texts, ()
    text = shlex.quote(" ".join(texts)) if texts else "TEXT"
    first, others = (ids[:1], ids[1:]) if "{other}" in template else (ids, ())
    unused = [
        *typed.unknown,
        *(others[1:] if "{id}" in template else ids),
        *(texts if "{text}" not in template else ()),
    ]
    other = _quoted(next(iter(others), "ID"))
    lines = [
        template.format(id=_quoted(item), other=other, text=text)
        for item in (first if first and "{id}" in template else ("ID",))
    ]
    options = " ".join(typed.options)
    return [" ".join(filter(None, ("counterpoint", line, options))) for line in lines], unused


def _quoted(item: str) -> str:
    return item if item == "ID" else shlex.quote(item)


def _read_typed(
    template: str, behind: Sequence[str], options: Mapping[str, click.Option]
) -> _Typed:
    """Return what stood behind a foreign command, told apart: ids, texts, options."""
    ids: list[str] = []
    texts: list[str] = []
    shared: list[str] = []
    unknown: list[str] = []
    words = list(behind)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            (ids if ITEM_ID.fullmatch(word) else texts).append(word)
            continue
        name, equals, value = word.partition("=")
        name = name if name in options else _LONG_OPTIONS.get(name, name)
        option = options.get(name)
        is_flag = option is not None and option.is_flag
        if not equals and not is_flag and words and not words[0].startswith("-"):
            value = words.pop(0)
        if name == "--id" and value:
            ids.append(value)
        elif (
            name in _TEXT_OPTIONS and value and "{text}" in template and f"{name} " not in template
        ) or (f"{name} " in template and value):
            texts.append(value)
        elif option is not None:
            shared += [name] if is_flag else [name, shlex.quote(value)]
        else:
            unknown.append(name)
    return _Typed(tuple(ids), tuple(texts), tuple(shared), tuple(unknown))


def _options_of(template: str, commands: click.Group) -> Mapping[str, click.Option]:
    """Return the options of our command by how they are typed."""
    command: click.Command | None = commands
    context = click.Context(commands)
    for word in template.split():
        if not isinstance(command, click.Group):
            break
        command = command.get_command(context, word)
    params = command.params if command is not None else []
    return {name: p for p in params if isinstance(p, click.Option) for name in p.opts}
