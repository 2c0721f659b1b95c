"""Outlines: Markdown plans, read strictly and written back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules import outline
from counterpoint.core.rules.drafting import remarks_of_new
from counterpoint.core.rules.outline import dump, load
from counterpoint.core.rules.planning import attributes
from counterpoint.core.rules.planning.markdown import parse_markdown
from counterpoint.kernel.errors import MalformedDocument

HOSTILE = [
    "# x", "## y", "- [ ] z", "- [x] z", "- after: a", "  - verify: b", "```", "~~~", "\\# x",
    "\\\\- [ ] z", "- note: c", "plain", "", "    code", "\\", "#hash", "- bullet", "{#name}",
    "  ## indented", "* [ ] star", "1. one", "- [] y", "-[ ] y", "[x] y", "1. [ ] y", "[x](y)",
]  # fmt: skip
printable = st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp"), blacklist_characters="\t")
plain_words = st.text(st.characters(categories=("Ll", "Lu", "Nd")), min_size=1, max_size=8)
titles = st.one_of(
    plain_words,
    st.text(printable, min_size=1, max_size=20).map(str.strip).filter(bool),
    st.sampled_from(["C#", "x #", "#", "a {#b}", "a \\{#b}", "- [ ] x", "# x", "x ## #", "\\"]),
)
bodies = st.lists(st.sampled_from(HOSTILE) | st.text(printable, max_size=12), max_size=5).map(
    lambda lines: "\n".join(line.rstrip() for line in lines).strip()
)
sentences = st.text(printable, min_size=1, max_size=15).map(str.strip).filter(bool)
names = st.from_regex(r"[A-Za-z0-9_.-]{1,12}", fullmatch=True)
some_words = st.lists(plain_words, max_size=2).map(tuple)


def drafts(kind, children):
    """Draw drafts of a kind with children from a strategy."""
    return st.builds(
        Draft,
        kind=st.just(kind),
        title=titles,
        name=st.just("") | names,
        body=bodies,
        needs=st.none() | some_words.filter(lambda words: "none" not in map(str.lower, words)),
        areas=some_words,
        acceptance=st.lists(sentences, max_size=2).map(tuple),
        checks=st.lists(
            st.lists(
                st.sampled_from(["|", "&&", "a b", "'", '"', "\\", "$x", ";", "#"]) | plain_words,
                min_size=1, max_size=3,
            ).map(tuple), max_size=2,
        ).map(tuple),
        labels=some_words,
        priority=st.integers(0, 4),
        profile=st.just("") | plain_words,
        approval=st.booleans(),
        review=st.booleans(),
        artifact=st.booleans(),
        done=st.booleans() if kind == "task" else st.just(False),
        children=children,
    )  # fmt: skip


below = st.recursive(
    drafts("task", st.just(())), lambda inner: drafts("task", st.lists(inner, max_size=2).map(tuple)),
    max_leaves=3,
)  # fmt: skip
tasks = st.lists(below, max_size=2).map(tuple)
phases = drafts("phase", tasks)
plans = drafts(
    "plan", st.tuples(tasks, st.lists(phases, max_size=2)).map(lambda two: (*two[0], *two[1]))
)


def without_lines(draft):
    """Answer a draft that does not know where it stood."""
    return replace(
        draft, line=0, remarks=(), children=tuple(without_lines(child) for child in draft.children)
    )


@given(draft=plans)
@example(draft=Draft(kind="plan", title="x", body="text\n\xa0more\n\u2003and"))
@example(draft=Draft(kind="plan", title="x", body="\\# x\n\xa00"))
def test_what_is_written_is_read_back_as_it_was(draft):
    """Titles, texts, attributes and commands, however much they look like structure."""
    assert without_lines(load(dump(draft))) == draft


@given(text=st.text(max_size=300))
@example(text="# T\n- priority: " + "9" * 5000)
@example(text="# T\n- priority: ²")
@example(text="# T\n- verify: '")
@example(text="# T\n- verify: \0|")
@example(text="# T\n" + "".join(" " * n + "- [ ] x\n" for n in range(900)))
def test_no_text_breaks_the_reader(text):
    try:
        load(text)
    except MalformedDocument as fault:
        lines = [one["line"] for one in fault.facts["faults"]]
        assert lines == sorted(lines)
        assert 1 <= lines[0] <= lines[-1] <= max(1, len(text.splitlines()))


@given(lines=st.lists(st.sampled_from([*HOSTILE, "# T", "### deep", "- priority: x"]), max_size=8))
def test_no_mixture_of_structure_breaks_the_reader(lines):
    try:
        draft = load("\n".join(["# Title", *lines]))
    except MalformedDocument:
        return
    assert without_lines(load(dump(draft))) == without_lines(draft)


def test_a_plan_is_read_with_all_its_parts():
    """Attributes under headings and tasks, texts of both, sub-tasks by their indent."""
    draft = load(
        "# Plan {#p}\nWhat for.\n- profile: lead\n- [ ] Loose\n## One ##\n- after: none\n"
        "- [x] A {#a}\n  - areas: src, docs\n  - priority: 0\n  Words.\n\n    more\n"
        "  - [ ] A1\n- [ ] B\n  - after: #a, A1\n  - review: yes\n  - artifact: required\n"
        "  - verify: pytest -q 'a b'\n  - accept: it works\n  - accept: well\n  - labels: x\n"
        "Text of the phase.\n### Inner\n- phase: yes\n"
    )
    assert (draft.name, draft.body, draft.profile) == ("p", "What for.", "lead")
    loose, one = draft.children
    assert (loose.kind, one.title, one.needs, one.body) == (
        "task", "One", (), "Text of the phase.",
    )  # fmt: skip
    a, b, inner = one.children
    assert (a.done, a.areas, a.priority, a.body) == (True, ("src", "docs"), 0, "Words.\n\n  more")
    assert [child.title for child in a.children] == ["A1"]
    assert b.needs == ("a", "A1")
    assert (b.review, b.artifact, b.labels) == (True, True, ("x",))
    assert (b.checks, b.acceptance) == ((("pytest", "-q", "a b"),), ("it works", "well"))
    assert (inner.kind, inner.line) == ("phase", 23)
    assert load("# T", "spec").kind == "spec"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the plan is empty"),
        ("---\npriority: high\n---\n", 1, "there is no `# Title` heading"),
        ("words", 1, "text before the `# Title` heading"),
        ("\n\nwords\nmore\n\nand more", 3, "text before the `# Title` heading"),
        ("# A\n" + outline.TEXT_LIMIT * "x", 1, "more than"),
        (f"# A\n- verify: {attributes.COMMAND_LIMIT * 'x'}x", 2, "longer than"),
        ("- [ ] T", 1, "must come before its tasks"),
        ("## P", 1, "must come first"),
        ("# A\n# B", 2, "one `#` heading"),
        ("# A\n### C", 2, "needs one above it first"),
        ("# A\n- [ ]", 2, "there is no title"),
        ("# A\n- prioriti: 1", 2, "did you mean 'priority'?"),
        ("# A\n- priority: 5", 2, "from 0 to 4, not '5'"),
        ("# A\n- review: maybe", 2, "is yes or no, not 'maybe'"),
        ("# A\n- after:", 2, "'after' has no value"),
        ("# A\n" + "".join("  " * n + "- [ ] x\n" for n in range(51)), 52, "deeper than 50 levels"),
        ("# A\n- verify: a && b", 2, "'&&' needs a shell"),
        ("# A\n- verify: a 2>&1", 2, "'2>&1' needs a shell"),
        ("# A\n- verify: 'a", 2, "cannot be read: no closing quotation"),
        ("# A\n- verify: a\0b", 2, "NUL"),
        ("# A\n- verify: #", 2, ""),
    ],
)
def test_each_line_that_cannot_be_read_is_named(text, line, words):
    if not words:
        assert load(text).checks == (("#",),)
        return
    with pytest.raises(MalformedDocument) as caught:
        load(text)
    assert [fault["line"] for fault in caught.value.facts["faults"]] == [line]
    assert words in caught.value.message


@pytest.mark.parametrize("name", ["a.b", "тест", "計画", "🚀", "👩‍💻", "a/b", "1"])
def test_a_name_may_have_any_script(name):
    """One word without a comma; what is no such word stays in the title, and is told."""
    draft = load(f"# T\n- [ ] a {{#{name}}}\n- [ ] b\n  - after: {name}\n- [ ] c {{#two words}}\n")
    assert [child.name for child in draft.children] == [name, "", ""]
    assert draft.children[1].needs == (name,)
    assert load(dump(draft)).children[0].name == name
    assert "line 5: a name `{#…}` is one word without commas" in draft.remarks[0]


def test_a_name_holds_no_control_character():
    with pytest.raises(MalformedDocument):
        load("# T\n- [ ] a {#a\x07b}\n")


@pytest.mark.parametrize(
    "row", ["| [ ] | a |", "|1|[x]|a|", "| a | ☐ |", "| a | [X]", "| a | ✅ |"]
)
def test_a_task_in_a_table_is_at_fault(row):
    """A box in a cell looks like a task; with a backslash before it the row is text, and comes back."""
    with pytest.raises(MalformedDocument) as caught:
        load(f"# T\n- [ ] a\n\n{row}\n")
    assert [fault["line"] for fault in caught.value.facts["faults"]] == [4]
    assert "stands in a table" in caught.value.message
    draft = load(f"# T\n- [ ] a\n\n\\{row.strip()}\n\n| `[x]` | done |\n")
    assert row.strip() in draft.body
    assert load(dump(draft)).body == draft.body
    patient = outline.read(f"# T\n- [ ] a\n\n{row}\n", title="T").draft
    assert patient.body == row.strip()
    assert "line 4: what looks like a task stands in a table" in patient.remarks[0]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- [ ] b (after: a)", 3, "- after: …"),
        ("- [ ] b [depends on a]", 3, "- after: …"),
        ("- [ ] b — blocked by: a", 3, "- after: …"),
        ("- [ ] b (review: yes)", 3, "- review: …"),
        ("- [ ] b (needs approval)", 3, "- approval: …"),
        ("## P\n- [ ] b\n\n**Depends on:** a", 6, "- after: …"),
        ("- ✅ b", 3, "begins with a sign"),
        ("- ⬜ b", 3, "begins with a sign"),
        ("- [ ] b (a note)", 0, ""),
        ("- [ ] b (after all)", 3, "'after all' is a part of the title"),
        ("- [ ] look after the rest", 0, ""),
        ("- [ ] b\n  - ✅ text", 0, ""),
    ],
)
def test_what_looks_like_an_attribute_or_a_task_is_told(text, line, words):
    remarks = load(f"# T\n- [ ] a\n{text}\n").remarks
    if not words:
        assert not remarks
        return
    assert [remark for remark in remarks if f"line {line}:" in remark and words in remark]


def test_an_empty_command_is_named():
    assert attributes.command_of("") == ((), "the command is empty")
    assert attributes.command_of("''") == (("",), "")


@pytest.mark.parametrize("command", ["grep '|' a", 'bash -c "a && b"', "x '>' y", "a ';' b"])
def test_a_quoted_sign_needs_no_shell(command):
    assert attributes.command_of(command)[1] == ""


def test_a_bullet_with_a_colon_is_text_unless_it_looks_like_an_attribute():
    body = f"- note: words\n- see: there\n- {500 * 'x'}: y"
    assert load(f"# T\n{body}").body == body


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("depends: One", "needs", ("One",)),
        ("depends on: One", "needs", ("One",)),
        ("Depends-On: One", "needs", ("One",)),
        ("blocked by: One", "needs", ("One",)),
        ("wait for: One", "needs", ("One",)),
        ("waits for : `One`", "needs", ("One",)),
        ("**after:** One", "needs", ("One",)),
        ("__After__: One", "needs", ("One",)),
        ("**Depends on**\uff1aOne", "needs", ("One",)),
        ("prerequisites: One", "needs", ("One",)),
        ("requires approval", "approval", True),
        ("**Needs approval.**", "approval", True),
        ("requires approval: yes", "approval", True),
        ("needs review", "review", True),
        ("acceptance criteria: it works", "acceptance", ("it works",)),
        ("*Done when*: it works", "acceptance", ("it works",)),
        ("check: pytest -q", "checks", (("pytest", "-q"),)),
        ("verify: `pytest -q`", "checks", (("pytest", "-q"),)),
        ("verify: `pytest -q`, `ruff check`", "checks", (("pytest", "-q"), ("ruff", "check"))),
        ("files: `src/api`, src/{b,c}", "areas", ("src/api", "src/{b,c}")),
        ("tags: `one`, two", "labels", ("one", "two")),
        ("priority: `0`", "priority", 0),
    ],
)
@pytest.mark.parametrize("before", ["", "  Words.\n"])
def test_what_means_an_attribute_is_read_as_it(line, attribute, value, before):
    """Words of other plans, of several words, with emphasis and back-ticks, also below a text."""
    draft = load(f"# T\n- [ ] One\n- [ ] A\n{before}  - {line}\n")
    assert getattr(draft.children[1], attribute) == value
    assert draft.remarks == ()
    assert load(f"# T\n- [ ] A\n  \\- {line}\n").children[0].body == f"- {line}"


@pytest.mark.parametrize(
    ("word", "meant"), [("tests", "verify"), ("blocks", "after"), ("reviewer", "review"), ("depend of", "after")]
)  # fmt: skip
def test_what_may_mean_an_attribute_is_refused_with_the_one_that_is_near(word, meant):
    with pytest.raises(MalformedDocument) as caught:
        load(f"# T\n- [ ] A\n  - {word}: x\n")
    assert (
        f"line 3: there is no attribute {word!r}; did you mean {meant!r}?" in caught.value.message
    )
    assert ", ".join(outline.ATTRIBUTES) in caught.value.message
    assert load(f"# T\n- [ ] A\n  \\- {word}: x\n").children[0].body == f"- {word}: x"


def test_a_value_goes_on_in_the_next_line_or_in_the_bullets_below():
    """What is said is not cut at the end of a line; a box below acceptance is a sentence, and told of."""
    draft = load(
        "# T\n- [ ] A\n  - accept: It answers\n    in JSON.\n  - acceptance criteria:\n    - One\n      and more\n    - [ ] Two\n"
        "  - areas:\n    - `src/a`\n    - src/b\n  - verify:\n    - `make a`\n    - make b\n  Text.\n"
    )
    task = draft.children[0]
    assert task.acceptance == ("It answers in JSON.", "One and more", "Two")
    assert (task.areas, task.checks) == (("src/a", "src/b"), (("make", "a"), ("make", "b")))
    assert (task.body, task.children) == ("Text.", ())
    assert [remark[:7] for remark in draft.remarks] == ["line 8:"]
    with pytest.raises(MalformedDocument, match="line 3: 'areas' has no value"):
        load("# T\n- [ ] A\n  - areas:\n  Text.\n")


def test_a_word_that_is_no_attribute_where_attributes_stand_is_told_of():
    """It is text, and nobody is left to believe that it is more; behind words it is text like any other."""
    draft = load(
        "# T\n- goal: all\n- [ ] A\n  - input: none\n  - areas: src\n  Words.\n  - goal: b\n- [ ] B\n  - https://x\n"
        "  after: A\n"
    )
    assert [remark.split(" is ")[0] for remark in draft.remarks] == [
        "line 2: 'goal'",
        "line 4: 'input'",
        "line 10: 'after'",
    ]
    assert draft.children[0].areas == ("src",)
    (remark,) = load("# T\n" + "- goal: x\n" * 50 + "- [ ] a\n").remarks
    assert remark.startswith("lines 2–51: 'goal' is no attribute")
    words = ["".join(pair) for pair in itertools.product("xyzwvu", repeat=2)]
    many = load("# T\n- [ ] a\n" + "".join(f"  - {word}: x\n" for word in words))
    assert len(many.remarks) == 31
    assert many.remarks[-1] == "6 more remarks of the kind"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- [~] a", 2, "`[~]` is no box of a plan: write `- [ ] a`"),
        ("- [-] a", 2, "`[-]` is no box"),
        ("- [?] a", 2, "`[?]` is no box"),
        ("- [✔️] a", 2, "`[✔️]` is no box"),
        ("- [ ] a\n\n  words\n\n      - [ ] b", 6, "stands in indented code"),
        ("- [ ] a\n        - [ ] b", 3, "no more than three columns deeper"),
        ("<details>\n- [ ] a\n</details>", 3, "a task stands in HTML"),
        ("<details>\n## A\n</details>", 3, "a heading stands in HTML"),
        ("- [ ] a <!-- b", 2, "a comment begins within this line"),
        ("Words <!-- b\n- [ ] a\n-->", 2, "a comment begins within this line"),
        ("<!-- a --> - [ ] b", 2, "a task is written `- [ ] b`"),
        ("- [ ]", 2, "there is no title"),
    ],
)
def test_no_task_vanishes(text, line, words):
    faults = outline.read(f"# T\n{text}\n").faults
    assert [number for number, _ in faults] == [line]
    assert words in faults[0][1]


def test_a_fence_or_comment_that_never_ends_is_at_fault_with_all_that_it_holds():
    for opening, what in (("```", "fence"), ("~~~~", "fence"), ("<!--", "comment")):
        faults = outline.read(f"# T\n- [ ] a\n\n{opening}\n- [ ] b\n## C\n").faults
        assert [line for line, _ in faults] == [4, 5, 6]
        assert faults[0][1] == f"the {what} that begins here never ends"


def test_comments_are_seen_by_nobody():
    draft = load(
        "# T\n<!-- ## No -->\n- [ ] one <!-- not me -->\n  <!--\n\n  - [ ] example\n  -->\n  - areas: src\n<!--\n- [ ] two\n"
        "-->\n- [ ] last\n"
    )
    assert [child.title for child in draft.children] == ["one", "last"]
    assert (draft.body, draft.children[0].body, draft.children[0].areas) == ("", "", ("src",))


def test_examples_in_fences_are_text():
    """Four back-ticks around three, tildes within back-ticks, indented below a task."""
    text = "# T\n````\n```\n- [ ] x\n````\n- [ ] a\n  ```\n  ~~~\n  - [ ] y\n  ```\n- [ ] b\n"
    draft = load(text)
    assert [child.title for child in draft.children] == ["a", "b"]
    assert draft.children[0].body == "```\n~~~\n- [ ] y\n```"


def test_a_title_that_is_too_long_is_cut_and_stands_whole_in_the_description():
    words = f"{'word ' * 140}end"
    draft = load(f"# T\n## A\n- [ ] {words} {{#a}}\n  More.\n- [ ] b\n  - after: a\n")
    task = draft.children[0].children[0]
    assert (len(task.title) <= 500, task.title[-1], task.name) == (True, "…", "a")
    assert task.body == f"{words}\n\nMore."
    assert draft.remarks[0].startswith("line 3: a title has at most 500 characters")


def test_a_quotation_and_a_box_in_a_heading_are_told_of():
    draft = load("# T\n> - [ ] a\n> - [ ] b\n\n## [ ] C\n- [ ] d\n")
    assert [remark.split(":")[0] for remark in draft.remarks] == ["lines 2–3", "line 5"]


@given(
    pieces=st.lists(
        st.sampled_from([*HOSTILE, "# T", "- [~] q", "<!--", "-->", "> - [ ] r", "<div>", "      - [ ] s", "  - accept:"]),
        max_size=9,
    )
)  # fmt: skip
@example(pieces=["# x", "  - accept:", "      - [ ] s"])
def test_every_line_that_looks_like_a_task_is_a_task_a_fault_or_told_of(pieces):
    text = "\n".join(["# Title", *pieces])
    document = parse_markdown(text)
    asked = [line.number for line in document.lines if line.is_box or line.is_like_task]
    for found in (outline.read(text), outline.read(text, title="Other")):
        heard = {line for line, _ in found.faults} | found.marks.keys()
        for remark in found.draft.remarks if found.draft else ():
            where = remark.partition(":")[0].partition(" ")[2].replace(" and", ",")
            for words in where.split(", "):
                begin, _, end = words.partition("–")
                heard |= set(range(int(begin), int(end or begin) + 1)) if begin.isdigit() else set()
        # A plan that is refused for other lines says no more than what is at fault.
        texts = {line.number: line.text for line in document.lines}
        remarks = {
            line.number
            for line in document.lines
            if line.kind == "quote" or (line.depth > 1 and "accept" in texts[line.holders[-2].line])
        }
        assert set(asked) <= heard | (set() if found.draft else remarks)


@given(text=st.text(max_size=200))
def test_a_document_of_somebody_else_is_read_whatever_it_is(text):
    found = outline.read(text, title="Other")
    assert (found.draft is None) == bool(found.faults)
    assert not found.faults or text.lstrip("\ufeff").startswith("---")


@pytest.mark.parametrize(
    ("headings", "nested"),
    [
        ("## a\n## b\n### c\n## d", "a b c< d"),
        ("# T\n### a\n### b\n## c\n#### d\n### e", "a b c d< e<"),
        ("# a\n## b\n# c\n### d\n### e", "a b< c d< e<"),
        ("---\ntitle: T\n---\n### a\n### b", "a b"),
        ("text\n### a\n# b\n##### c\n###### d\n##### e", "a b c< d<< e<"),
        ("text\n# a\n## b\n### c\n#### d\n##### e\n###### f", "a b< c<< d<<< e<<<< f<<<<"),
    ],
)
def test_headings_of_one_level_stand_side_by_side(headings: str, nested: str):
    def walk(draft: Draft, depth: int) -> Iterator[str]:
        for child in draft.children:
            if child.kind == "phase":
                yield child.title + "<" * depth
                yield from walk(child, depth + 1)

    written = re.sub(r"(?m)^(#+ .)$", r"\1\n- [ ] x", headings)
    plan = outline.read(written, title="Other").draft
    assert plan is not None
    assert " ".join(walk(plan, 0)) == nested
    assert load(dump(plan)).children[0].title == plan.children[0].title


def test_an_attribute_belongs_to_what_it_is_indented_below():
    draft = load("# T\n- [ ] A\n  - [ ] B\n  - labels: x\n- labels: y\n")
    assert (draft.labels, draft.children[0].labels) == (("y",), ("x",))
    assert draft.children[0].children[0].labels == ()


def test_between_fences_all_is_text():
    draft = load("# T\n```\n# no heading\n- [ ] no task\n```\n- [ ] task")
    assert draft.body == "```\n# no heading\n- [ ] no task\n```"
    assert [child.title for child in draft.children] == ["task"]


def test_tasks_are_written_before_phases():
    late = Draft(kind="task", title="late")
    draft = Draft(kind="plan", title="T", children=(Draft(kind="phase", title="P"), late))
    assert [child.title for child in load(dump(draft)).children] == ["late", "P"]


def test_a_dump_is_what_a_person_would_write():
    draft = load("# T\n\n- [ ] A\n  - priority: 2\n")
    assert re.sub(r"\n+", "\n", dump(draft)) == "# T\n- [ ] A\n"


def test_a_heading_without_a_task_is_text_of_what_it_stands_in():
    """A phase that never ends would hold all that comes after it; what asks for something is a phase."""
    draft = load(
        "# Plan\nWhat for.\n## Notes\nRead *this*.\n### Deeper\n- a list\n## Build\n- [ ] a\n### Hints\nTry b.\n"
        "## Sign {#sign}\n## Ship\n- review: yes\n## Later\n"
    )
    assert draft.body == "What for.\n\n## Notes\nRead *this*.\n\n### Deeper\n- a list\n\n## Later"
    build, sign, ship = draft.children
    assert (build.title, build.body, sign.title, ship.title) == (
        "Build", "### Hints\nTry b.", "Sign", "Ship",
    )  # fmt: skip
    assert [remark[:38] for remark in draft.remarks[:2]] == [
        "line 3: no task is below 'Notes', so i",
        "line 9: no task is below 'Hints', so i",
    ]
    assert without_lines(load(dump(draft))) == without_lines(draft)
    outline_only = load("# Plan\n## Build\n## Ship\n")
    assert [child.title for child in outline_only.children] == ["Build", "Ship"]
    with pytest.raises(MalformedDocument, match="stands below the heading of a phase"):
        load("# Plan\n- [ ] a\n  - phase: yes\n")


def test_front_matter_is_read():
    """Its title where no heading has one, attributes of the plan, and all else as text."""
    draft = load(
        "---\ntitle: Ship it\nlabels: [a, b]\npriority: 1\nverify:\n  - make test\n  - make lint\n"
        "owner: Ann\ndescription: What for.\n---\n- after: none\n\nMore.\n- [x] one\n"
    )
    assert (draft.title, draft.labels, draft.priority, draft.needs) == (
        "Ship it",
        ("a", "b"),
        1,
        (),
    )
    assert draft.checks == (("make", "test"), ("make", "lint"))
    assert draft.body == "What for.\n\nowner: Ann\n\n\nMore."
    assert (draft.children[0].line, draft.children[0].done) == (14, True)
    assert draft.remarks == ("front matter: owner is kept as text of the description",)
    assert remarks_of_new(draft) == ("1 ticked: what is ticked begins as done",)
    assert load("---\ntitle: A\npriority: 1\n---\n# B\n- priority: 3\n").priority == 3
    with pytest.raises(MalformedDocument, match="line 2: priority is a number"):
        load("---\npriority: high\n---\n# B\n")
    with pytest.raises(MalformedDocument, match="line 1: the front matter does not end"):
        load("---\n# B\n")


def test_what_is_unlike_the_usual_is_written_and_read_back():
    """Each attribute, names and text that look like structure, and code that is never closed."""
    text = (
        "# A plan {#plan}\n- profile: lead\n- approval: yes\n- artifact: yes\n- review: yes\n- labels: x, y\n"
        "- areas: src/**\n- accept: it works\n- verify: make test\n- priority: 1\n\\# no heading\n\n"
        "- [ ] A \\{#a}\n  - after: none\n  \\- [ ] no task\n- [ ] B ###\n"
    )
    draft = load(text)
    assert (draft.body, draft.children[0].title, draft.children[0].body) == (
        "# no heading", "A {#a}", "- [ ] no task",
    )  # fmt: skip
    assert without_lines(load(dump(draft))) == without_lines(draft)
    odd = replace(draft, body="```\nopen\n# one\n\nx - y", children=())
    assert without_lines(load(dump(odd))) == without_lines(odd)
    closed = replace(draft, body="```\n# one\n```\n- [ ] two", children=())
    assert without_lines(load(dump(closed))) == without_lines(closed)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("- [] d", "- [ ] d"),
        ("-[ ] d", "- [ ] d"),
        ("- [x]d", "- [x] d"),
        ("1. [ ] d", "- [ ] d"),
        ("[ ] d", "- [ ] d"),
        ("  * [  ] d", "  - [ ] d"),
    ],
)
def test_what_was_surely_meant_as_a_task_is_at_fault_with_its_form(line, form):
    """Beside all other faults; what comes after it by its title is no fault of its own."""
    said = outline.read(f"# T\n{line}\n- [ ] e\n  - after: d\n  - priority: 9\n")
    assert [number for number, _ in said.faults] == [2, 5]
    assert said.faults[0][1] == f"a task is written `{form}`"
    for text in ("[x](https://x.org)", "- [x](y)", "\\- [] d", "[] = a", "- [ab] c"):
        assert load(f"# T\n- [ ] e\n{text}\n").children[0].title == "e"


def test_a_part_without_a_task_is_told_of():
    text = "# Plan\n## Steps\n- phase: yes\n1. Do this\n- Do that\n## More\n- [ ] a\n"
    (remark,) = load(text).remarks
    assert remark.startswith(
        "line 2: the phase 'Steps' has no task; a task is a line `- [ ] Title`"
    )
    (remark,) = load("# Plan\n- Do this\n").remarks
    assert remark.startswith("line 1: the plan 'Plan' has no task")
    assert load("# T", "task").remarks == ()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("`pytest -q`", "without backticks: pytest -q"),
        ("make $(nproc)", "'$(' needs a shell"),
        ("A=1 pytest", "write env A=1 pytest"),
        ("pytest -q;", "';' needs a shell"),
        ("'A=1' pytest", ""),
        ("grep '`$(;' x --a=b", ""),
        ("grep a\\;b x;y", ""),
    ],
)
def test_what_only_a_shell_understands_is_refused_with_the_right_form(command, words):
    """In quotation marks or behind a backslash each is a letter, and is written back so."""
    argv, problem = attributes.command_of(command)
    assert words in problem
    assert bool(problem) == bool(words)
    if argv:
        assert attributes.command_of(attributes.command_line(argv)) == (argv, "")


@pytest.mark.parametrize("area", ["/etc", "../x", "src/../../x", "~/x"])
def test_an_area_lies_in_the_project(area):
    with pytest.raises(MalformedDocument, match=r"line 3: the area .* leads out"):
        load(f"# T\n- [ ] a\n  - areas: src, {area}\n")


def test_a_title_has_no_control_characters():
    with pytest.raises(MalformedDocument, match=r"line 2: the character U\+0000"):
        load("# T\n- [ ] a\0b\n")


@pytest.mark.parametrize(
    ("bullet", "told"),
    [
        ("Depends on: x", "'Depends on' stands within text, so it is text and not the attribute 'after'"),
        ("lebels: b", "'lebels' stands within text, so it is text and not the attribute 'labels'"),
        ("prioritie: 2", "did you mean 'priority'?"),
    ],
)  # fmt: skip
def test_what_may_mean_an_attribute_below_other_words_is_told_or_refused(
    bullet: str, told: str
) -> None:
    """It is refused where it begins like one, as only a slip of the pen does."""
    found = outline.read(f"# T\n- [ ] t\n  - plain bullet\n    - {bullet}\n")
    assert found.draft is not None
    told_of = [*found.draft.remarks, *(problem for _, problem in found.faults)]
    assert [told in words for words in told_of] == [True]
    is_refused = bool(found.faults)
    assert (f"- {bullet}" in found.draft.children[0].body) is not is_refused


def test_a_word_that_is_longer_than_any_attribute_is_near_to_none():
    assert load(f"# T\n- [ ] a\n  - {'priority' * 5}: 1\n").children[0].priority == 2


@pytest.mark.parametrize("front", ["---\ntitle: T\npriority:\n---\n", "# T\n- priority:\n"])
def test_an_attribute_without_a_value_is_refused(front: str) -> None:
    (fault,) = outline.read(f"{front}- [ ] a\n").faults
    assert fault[1] == "'priority' has no value"


def test_a_comment_within_a_paragraph_ends_in_it():
    assert load("# T\nA <!-- b\nmore\nc --> d\n- [ ] a\n").body == "A <!-- b\nmore\nc --> d"
    for behind in ("- [ ] a\n", ""):
        ((line, problem),) = outline.read(f"# T\nA <!-- b\nmore\n{behind}").faults
        assert (line, "does not end with its paragraph" in problem) == (2, True)


def test_tasks_without_a_title_above_them_are_no_plan():
    found = outline.read("- [] y\n")
    assert found.faults == [(1, "a task is written `- [ ] y`")]
    assert found.draft is None


def test_with_patience_a_box_of_another_form_is_a_task_and_an_empty_one_is_left_out():
    found = outline.read("# T\n- [ ]\n- [] y\n[x] z\n", title="Other")
    assert found.draft is not None
    assert [(child.title, child.done) for child in found.draft.children] == [
        ("y", False),
        ("z", True),
    ]
    assert found.draft.remarks == ("line 2: a box without a title is left out",)


def test_a_fence_that_hangs_on_an_attribute_is_text_and_read_back():
    """With a backslash before the attribute there is no list any more that held the fence."""
    body = "- after: a\n    ```\n    - [ ] x\n    ```"
    draft = Draft(kind="plan", title="T", body=body, children=(Draft(kind="task", title="a"),))
    text = dump(draft)
    assert "\\- after: a\n    \\```\n    \\- [ ] x\n    \\```" in text
    assert (load(text).body, len(load(text).children)) == (body, 1)
