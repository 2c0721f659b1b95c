"""Laws of all other files: what they may say, that locks and checks agree, that pages lead somewhere."""

from __future__ import annotations

import os
import posixpath
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import sizes

if TYPE_CHECKING:
    from laws import Repository

AGENTS_LINES = 80
DECISION_LINES = 60
DECISIONS = "docs/decisions/README.md"
DECISION_PARTS = ("## Context", "chosen because", "## Consequences")
LOCKS = ("run.txt", "dev.txt", "bootstrap.txt", "docs.txt")
FOREIGN_LOCKS = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"})
STEPS = ("lint", "laws", "types", "imports", "test")
"""What `make check` goes through, and `.ci/run`."""
SPARE = 50
"""Lines or modules by which a number of the page of sizes may be off, beside a sixth: it is mended now and then."""
NAMED_TESTS = {"docs/threat-model.md": 30, "docs/reliability.md": 15}
"""Pages that name the tests of what they promise, and how many at least."""
RECORDING_BYTES = 1_000_000

_MACHINE = re.compile(
    r"(?<![\w.}\])*-])/(?:work|farm|root|tmp|home/\w+|Users/\w+)(?:/\w|$)", re.MULTILINE
)
_INDEX = re.compile(
    r"https?://[^ \"]+/simple|index-url *[= ] *.?http|files\.pythonhosted\.\w|registry = \"http"
)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
_ROW = re.compile(r"^\| (.*) \| ([\d,· ]+) \| ([\d,· ]+) \|$", re.MULTILINE)


# ── what no file says ───────────────────────────────────────────────────────────────────────────


def no_file_names_a_path_of_a_machine(repository: Repository) -> Iterator[str]:
    """Paths of one machine mean nothing on another."""
    yield from _lines_with(repository, _MACHINE)


def no_file_names_a_package_index(repository: Repository) -> Iterator[str]:
    """Where packages come from is the affair of the machine that installs them."""
    yield from _lines_with(repository, _INDEX)


def _lines_with(repository: Repository, pattern: re.Pattern[str]) -> Iterator[str]:
    for name, text in repository.texts.items():
        # Most files have none, and to look at each line of them takes long.
        if pattern.search(text):
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    yield f"{name}:{number} {line.strip()[:120]}"


# ── locks and settings ──────────────────────────────────────────────────────────────────────────


def locks_are_requirement_files(repository: Repository) -> Iterator[str]:
    """No other kind of lock stands beside them, since those name an index; npm's lie below tests/ and name no place."""
    for name in repository.names:
        path = PurePosixPath(name)
        if path.name in FOREIGN_LOCKS:
            yield name
        if path.name == "package-lock.json" and (
            path.parts[0] != "tests" or '"resolved"' in repository.texts[name]
        ):
            yield f"{name} is not below tests/, or names where a package lies"


def locks_carry_hashes(repository: Repository) -> Iterator[str]:
    """A package that was swapped on the way is refused."""
    for name, text in repository.texts.items():
        if name.startswith("requirements/"):
            for block in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE):
                if block and "--hash=sha256:" not in block:
                    yield f"{name}: {block.split()[0]}"


def locks_pin_what_the_project_needs(repository: Repository) -> Iterator[str]:
    """Each dependency is in the lock to run, and the lock to develop has the same versions."""
    project: dict[str, Any] = tomllib.loads(repository.texts["pyproject.toml"])["project"]
    needed = {re.split(r"[<>=\[ ]", item)[0] for item in project["dependencies"]}
    run, dev, bootstrap, docs = (_read_pins(repository, name) for name in LOCKS)
    yield from (f"requirements/run.txt has no {name}" for name in sorted(needed - run.keys()))
    for name, version in run.items():
        if dev.get(name) != version:
            yield f"requirements/dev.txt has {name} {dev.get(name)}, run.txt {version}"
    if bootstrap.keys() != {"uv"}:
        yield f"requirements/bootstrap.txt has {', '.join(bootstrap)}"
    if "mkdocs-material" not in docs or "mkdocs-material" in {*run, *dev, *bootstrap}:
        yield "mkdocs-material belongs into requirements/docs.txt alone"


def _read_pins(repository: Repository, name: str) -> dict[str, str]:
    text = repository.texts.get(f"requirements/{name}", "")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def ignored_rules_give_reasons(repository: Repository) -> Iterator[str]:
    """A rule of the linter that is left out stands with its reason on the same line."""
    text = repository.texts["pyproject.toml"]
    part = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.flake8-bugbear]")]
    rules = [line.strip() for line in part.splitlines() if re.match(r'\s+"[A-Z]+\d*"', line)]
    if not rules:
        yield "pyproject.toml: the list of rules was not found"
    yield from (
        f"pyproject.toml: {rule}" for rule in rules if not re.search(r"# \S+(?: \S+){2,}", rule)
    )


def the_check_runs_every_step(repository: Repository) -> Iterator[str]:
    """`.ci/run` can be started, and goes through each step of `make check`."""
    if not os.access(repository.root / ".ci" / "run", os.X_OK):
        yield ".ci/run cannot be started"
    lines = repository.texts[".ci/run"].splitlines()
    commands = [line for line in lines if line.lstrip().startswith(("for step in ", "make "))]
    words = set(re.findall(r"\w+", " ".join(commands)))
    for step in STEPS:
        if step not in words:
            yield f".ci/run does not go through {step}"
    if f"check: {' '.join(STEPS)} ##" not in repository.texts["Makefile"]:
        yield f"Makefile: check is not {' '.join(STEPS)}"


# ── pages ───────────────────────────────────────────────────────────────────────────────────────


def the_page_for_agents_is_short(repository: Repository) -> Iterator[str]:
    """AGENTS.md has at most 80 lines, so that it is read in one go."""
    lines = len(repository.texts["AGENTS.md"].splitlines())
    if lines > AGENTS_LINES:
        yield f"AGENTS.md has {lines} lines, at most {AGENTS_LINES}"


def the_architecture_page_names_every_folder(repository: Repository) -> Iterator[str]:
    """A folder or module at the top of the product that the page does not know has no place in the house."""
    page = repository.texts["docs/internals/architecture.md"]
    parts = {file.path.partition("/")[0] for file in repository.product} - {"__init__.py"}
    yield from (
        f"docs/internals/architecture.md: {part}" for part in sorted(parts) if part not in page
    )


def the_table_of_sizes_is_fresh(repository: Repository) -> Iterator[str]:
    """What `docs/internals/architecture.md` says of lines and modules is off by a sixth and 50 at most."""
    printed = _ROW.findall(repository.texts["docs/internals/architecture.md"])
    rows = [*sizes.rows(repository.product)]
    if [label for label, *_ in printed] != [label for label, *_ in rows]:
        yield "docs/internals/architecture.md has other rows: run `python scripts/sizes.py`"
        return
    for (label, *cells), (_, *counts) in zip(printed, rows, strict=True):
        for cell, parts in zip(cells, counts, strict=True):
            numbers = [int(part.replace(",", "")) for part in cell.split(" · ")]
            if len(numbers) != len(parts) or any(
                abs(number - count) > count / 6 + SPARE
                for number, count in zip(numbers, parts, strict=False)
            ):
                yield f"docs/internals/architecture.md: {label}: {parts}; run `python scripts/sizes.py`"


def decisions_say_why(repository: Repository) -> Iterator[str]:
    """Each decision has a number of its own, is one page with context, outcome and consequences, and is listed."""
    index = repository.texts[DECISIONS]
    pages = [
        PurePosixPath(name)
        for name in repository.names
        if name.startswith("docs/decisions/") and name != DECISIONS
    ]
    numbers = Counter(page.name[:4] for page in pages)
    for page in pages:
        text = repository.texts[page.as_posix()]
        if not page.name[:4].isdigit() or numbers[page.name[:4]] > 1:
            yield f"{page} has no number of its own"
        yield from (f"{page} lacks `{part}`" for part in DECISION_PARTS if part not in text)
        if len(text.splitlines()) > DECISION_LINES:
            yield f"{page} has more than {DECISION_LINES} lines"
        if f"]({page.name})" not in index:
            yield f"{page} is not listed in {DECISIONS}"


def links_lead_somewhere(repository: Repository) -> Iterator[str]:
    """Files that a page links are there, and so are the headings that a link names."""
    files = {*repository.names}
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    for page in _list_pages(repository):
        for target in _LINK.findall(_FENCED.sub("", repository.texts[page])):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            there = (
                posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            )
            is_there = there in files or there in folders
            if not is_there or (anchor and anchor not in _list_anchors(repository.texts[there])):
                yield f"{page}: {target}"


def _list_pages(repository: Repository) -> list[str]:
    pages = [name for name in repository.names if name.startswith("docs/") and name.endswith(".md")]
    return ["README.md", "CONTRIBUTING.md", *pages]


def _list_anchors(text: str) -> set[str]:
    """Return what a link can point to within a page, as a forge names its headings."""
    headings = re.findall(r"^#+\s+(.*)$", _FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def the_contents_lead_to_every_page(repository: Repository) -> Iterator[str]:
    """Each page for users is linked in docs/contents.md, and that one on the first page."""
    contents, first = "docs/contents.md", repository.texts["README.md"]
    if f"]({contents})" not in first:
        yield f"README.md does not link {contents}"
    for name in repository.names:
        path = PurePosixPath(name)
        is_page = path.parent.as_posix() == "docs" and path.suffix == ".md" and name != contents
        if is_page and f"]({path.name})" not in repository.texts[contents]:
            yield f"{contents} does not link {name}"


def tables_are_whole(repository: Repository) -> Iterator[str]:
    """Rows behind a blank line have no head, and are shown as they are typed."""
    for page in _list_pages(repository):
        lines = repository.texts[page].splitlines()
        rows = zip(["", *lines], lines, [*lines[1:], ""], strict=False)
        for number, (before, row, after) in enumerate(rows, 1):
            is_head = after.replace(" ", "").startswith("|-")
            if row.startswith("| ") and not before.startswith("|") and not is_head:
                yield f"{page}:{number} {row[:60]}"


def named_tests_exist(repository: Repository) -> Iterator[str]:
    """The pages about threats and reliability name tests that there are."""
    tests = {
        function.name
        for file in repository.tests
        for function in file.functions
        if function.name.startswith("test_")
    }
    for page, least in NAMED_TESTS.items():
        names = set(re.findall(r"`(test_\w+)`", repository.texts[page]))
        if len(names) <= least:
            yield f"{page} names {len(names)} tests, more than {least} are expected"
        yield from (f"{page}: {name}" for name in sorted(names - tests))


def recordings_stand_on_a_page(repository: Repository) -> Iterator[str]:
    """Each drawing of a terminal stands on a page, every picture of a page is there, and no drawing fetches anything."""
    shown = {
        posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        for page in _list_pages(repository)
        for target in _PICTURE.findall(repository.texts[page])
    }
    drawn = {name for name in repository.names if name.startswith("docs/recordings/")}
    yield from (
        f"{name} is shown and missing, or stands on no page" for name in sorted(drawn ^ shown)
    )
    for name in sorted(name for name in drawn if name.endswith(".svg")):
        # A picture within a drawing is bytes of its own, which may say anything.
        text = re.sub(r'"data:image/png;base64,[^"]*"', '""', repository.texts[name])
        if len(repository.texts[name]) >= RECORDING_BYTES:
            yield f"{name} has {RECORDING_BYTES:,} bytes or more"
        if "//" in text.replace('xmlns="http://www.w3.org/2000/svg"', ""):
            yield f"{name} names an address"
        if "counterpoint" not in text:
            yield f"{name} shows nothing of the program"
