"""Diffs: what is read of those that git writes, and what is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.diffs import Diff, DiffFile, parse
from counterpoint.kernel.errors import MalformedDocument

NEWLINE = "\\ No newline at end of file\n"

signs = st.lists(st.sampled_from([" ", "+", "-"]), min_size=1, max_size=12)
words = st.sampled_from(
    ["", "x", "-- y", "++ z", "@@ -1 +1 @@", "diff --git a/q b/q", "\r", "\x0c"]
)
odd_names = st.text(st.sampled_from('ab /.-+é"\\\t\n☃'), min_size=1, max_size=8).filter(
    lambda name: not name.startswith("/")
)


def quoted(side: str, name: str) -> str:
    """Answer a name as git writes it: in quotes if it has odd letters."""
    if not any(letter in '"\\' or not " " <= letter <= "~" for letter in name):
        return f"{side}/{name}"
    parts: list[str] = []
    for byte in name.encode():
        letter = chr(byte)
        if letter in '"\\':
            parts.append(f"\\{letter}")
        elif letter in "\t\n":
            parts.append({"\t": "\\t", "\n": "\\n"}[letter])
        else:
            parts.append(letter if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{side}/{"".join(parts)}"'


def header(name: str) -> str:
    """Answer the first lines of a changed file."""
    end = "\t" if " " in name else ""
    return (
        f"diff --git {quoted('a', name)} {quoted('b', name)}\nindex 1111111..2222222 100644\n"
        f"--- {quoted('a', name)}{end}\n+++ {quoted('b', name)}{end}\n"
    )


def hunk(lines: list[tuple[str, str]]) -> str:
    """Answer a hunk of lines with their signs."""
    old = sum(sign != "+" for sign, _ in lines)
    new = sum(sign != "-" for sign, _ in lines)
    body = "".join(f"{sign}{text}\n" for sign, text in lines)
    return f"@@ -1,{old} +1,{new} @@ def f():\n{body}"


@given(
    files=st.dictionaries(
        odd_names,
        st.lists(
            st.lists(st.tuples(st.sampled_from(" +-"), words), min_size=1, max_size=8), max_size=3
        ),
        max_size=4,
    )
)
def test_lines_of_any_files_are_counted(files):
    """Whatever the lines look like, in the order of the files, under their names."""
    text = "".join(
        header(name) + "".join(hunk(lines) for lines in hunks) for name, hunks in files.items()
    )
    diff = parse(text)
    assert [(file.path, file.additions, file.deletions) for file in diff.files] == [
        (
            name,
            sum(sign == "+" for lines in hunks for sign, _ in lines),
            sum(sign == "-" for lines in hunks for sign, _ in lines),
        )
        for name, hunks in files.items()
    ]
    assert diff.lines == diff.additions + diff.deletions
    assert diff.paths == tuple(files)


@given(text=st.text(st.sampled_from("diff --git a/b\n@+-1, \\\"'rename from to")))
def test_any_text_is_read_or_refused(text):
    """Nothing but the one error ever comes out."""
    with suppress(MalformedDocument):
        assert isinstance(parse(text), Diff)


@given(lines=signs, cut=st.integers(1, 12))
def test_a_hunk_that_ends_early_is_refused(lines, cut):
    """A diff that was cut off never counts fewer lines than its head says."""
    text = header("a.py") + hunk([(sign, "x") for sign in lines])
    short = text.rsplit("\n", min(cut, len(lines)) + 1)[0]
    with pytest.raises(MalformedDocument):
        parse(short)


HEAD = "diff --git a/x.py b/x.py\n"
LINES = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + "index 1..2 100644\n" + LINES, DiffFile(path="x.py", additions=1, deletions=1)),
        (HEAD + "old mode 100644\nnew mode 100755\n", DiffFile(path="x.py")),
        (
            HEAD + "new file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+b\n",
            DiffFile(path="x.py", kind="added", additions=1),
        ),
        (
            HEAD + "deleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n" + NEWLINE,
            DiffFile(path="x.py", kind="deleted", deletions=1),
        ),
        (HEAD + "new file mode 100644\nindex 0..1\n", DiffFile(path="x.py", kind="added")),
        (
            (
                "diff --git a/old b/new x\nsimilarity index 90%\nrename from old\nrename to new x\n"
                "--- a/old\n+++ b/new x\t\n@@ -1 +1,2 @@\n a\n+b\n"
            ),
            DiffFile(path="new x", kind="renamed", previous="old", additions=1),
        ),
        (
            'diff --git a/old "b/n\\303\\251"\nrename from old\nrename to "n\\303\\251"\n',
            DiffFile(path="né", kind="renamed", previous="old"),
        ),
        (
            "diff --git a/old b/twin\nsimilarity index 100%\ncopy from old\ncopy to twin\n",
            DiffFile(path="twin", kind="copied", previous="old"),
        ),
        (
            HEAD + "index 1..2 100644\nBinary files a/x.py and b/x.py differ\n",
            DiffFile(path="x.py", is_binary=True),
        ),
        (
            HEAD + "index 1..2 100644\nGIT binary patch\nliteral 4\nLcmZ?r+-2\n\nliteral 1\nIcmZ\n\n",
            DiffFile(path="x.py", is_binary=True),
        ),
        ("diff --git x.py x.py\n" + LINES, DiffFile(path="x.py", additions=1, deletions=1)),
        ("diff --git i/x.py w/x.py\n" + LINES, DiffFile(path="x.py", additions=1, deletions=1)),
        ("diff --git a/x b/yz\n--- a/x\n+++ b/yz\n", DiffFile(path="yz")),
        ("diff --git a/x b/yz\n--- a/x\n+++ /dev/null\n", DiffFile(path="x", kind="deleted")),
        (
            "diff --git a/x b/yz\n--- /dev/null\n+++ b/yz\n@@ -0,0 +1 @@\n+a\n",
            DiffFile(path="yz", kind="added", additions=1),
        ),
        ('diff --git "a/\\a\\b\\v\\f\\r\\q" "b/\\a\\b\\v\\f\\r\\q"\n', DiffFile(path="\a\b\v\f\rq")),
        (HEAD + "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n-a\n+b\n\n z\n",
         DiffFile(path="x.py", additions=1, deletions=1)),
        (LINES.join(["commit 1\n\n    +1 line\n\n" + HEAD, "-- \n2.50.0\n"]),
         DiffFile(path="x.py", additions=1, deletions=1)),
        (HEAD + LINES.replace("-a\n", "-a\n" + NEWLINE) + NEWLINE,
         DiffFile(path="x.py", additions=1, deletions=1)),
        ((HEAD + LINES).replace("\n", "\r\n"), DiffFile(path="x.py", additions=1, deletions=1)),
    ],
)  # fmt: skip
def test_a_file_is_read_as_git_meant_it(text, expected):
    """Modes, additions, deletions, renames, copies, binaries, quoted names, other prefixes."""
    assert parse(text).files == (expected,)


def test_an_empty_diff_has_no_files():
    """Nothing changed is no fault."""
    assert parse("") == parse("\n") == Diff()


def test_the_old_name_of_a_rename_is_touched_too():
    """A copy leaves its source alone."""
    diff = Diff(
        files=(
            DiffFile(path="b", kind="renamed", previous="a"),
            DiffFile(path="d", kind="copied", previous="c"),
            DiffFile(path="b"),
        )
    )
    assert diff.paths == ("b", "a", "d")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("--- a/x\n+++ b/x\n", 1, "no line begins"),
        ("just words", 1, "no line begins"),
        (HEAD + "diff --cc x.py\n@@@ -1 -1 +1 @@@\n", 2, "combined"),
        ("diff --combined x.py\n", 1, "combined"),
        (HEAD + "--- a/x.py\n+++ b/x.py\n@@@ -1 -1 +1 @@@\n", 4, "head of the hunk"),
        (HEAD + "@@ nonsense\n", 2, "head of the hunk"),
        (HEAD + "@@ -1 +1 @@extra\n", 2, "head of the hunk"),
        (HEAD + "@@ -1,2 +1 @@\n-a\n", 2, "fewer lines"),
        (HEAD + "@@ -1 +1 @@\n-a\n-b\n", 4, "does not fit"),
        (HEAD + "@@ -1 +1 @@\n-a\ndiff --git a/y b/y\n", 4, "does not fit"),
        (HEAD + LINES + "+more\n", 7, "outside of a hunk"),
        (HEAD + LINES + "-less\n", 7, "outside of a hunk"),
        ("diff --git a/x b/yz\nindex 1..2\n", 1, "cannot be told apart"),
        ('diff --git "a/x" "b/y"\n', 1, "cannot be told apart"),
        ("diff --git abc abd\n", 1, "cannot be told apart"),
    ],
)
def test_what_is_no_diff_is_refused_with_its_line(text, line, words):
    """Each fault says where it is."""
    with pytest.raises(MalformedDocument) as refusal:
        parse(text)
    [fault] = refusal.value.facts["faults"]
    assert fault["line"] == line
    assert words in fault["problem"]


def test_all_faults_of_a_diff_come_together():
    """A file that cannot be read does not hide the next one."""
    broken = HEAD + "@@ -1 +1 @@\n-a\n-b\n"
    with pytest.raises(MalformedDocument) as refusal:
        parse(broken * 3 + HEAD + LINES)
    assert [fault["line"] for fault in refusal.value.facts["faults"]] == [4, 8, 12]
