"""The rules that decide what a task changed, without a repository."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.evidence.git.diff import Difference, Line, Rename
from counterpoint.evidence.git.rules import Measured, decide, present

PATHS = st.sampled_from(["a", "b", "c"])
MARKS = st.sampled_from(["", "1", "2"])
LINES = st.dictionaries(
    PATHS, st.builds(Line, kind=st.sampled_from(["added", "deleted", "modified"]))
)
PAIRS = st.dictionaries(PATHS, st.builds(Rename, previous=PATHS))
DIFFERENCES = st.builds(Difference, lines=LINES, renames=PAIRS)


@given(
    start=st.dictionaries(PATHS, MARKS),
    now=st.dictionaries(PATHS, MARKS),
    dirty=st.sets(PATHS),
    on_disk=DIFFERENCES,
    by_commit=DIFFERENCES,
)
def test_no_path_is_named_twice_and_none_from_nowhere(
    start: dict[str, str],
    now: dict[str, str],
    dirty: set[str],
    on_disk: Difference,
    by_commit: Difference,
) -> None:
    """Each path has one place in the answer, in order, and comes from what was measured."""
    measured = Measured(
        start=start,
        dirty=dirty,
        mark_now=lambda path: now.get(path, ""),
        on_disk=on_disk,
        by_commit=by_commit,
    )
    changes, _ = decide(measured)
    names = [name for change in changes for name in (change.path, change.previous) if name]
    assert len(names) == len(set(names))
    assert [change.path for change in changes] == sorted(change.path for change in changes)
    assert set(names) <= start.keys() | on_disk.lines.keys() | by_commit.lines.keys()


@given(start=st.dictionaries(PATHS, MARKS), on_disk=DIFFERENCES, by_commit=DIFFERENCES)
def test_dirt_that_stayed_is_never_counted(
    start: dict[str, str], on_disk: Difference, by_commit: Difference
) -> None:
    """A path whose mark is the same is not in the answer, be it left or committed as it is."""
    measured = Measured(
        start=start, dirty=(), mark_now=start.__getitem__, on_disk=on_disk, by_commit=by_commit
    )
    changes, _ = decide(measured)
    assert not {change.path for change in changes} & start.keys()


def test_a_warning_names_ten_paths_and_counts_the_rest() -> None:
    """A long list does not fill a page."""
    (warning,) = present("is so", [f"p{number:02}" for number in range(12)])
    assert warning.startswith("`p00`, `p01`")
    assert warning.endswith("`p09` and 2 more: is so")
