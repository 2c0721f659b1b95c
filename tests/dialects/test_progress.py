"""What a long verb says reaches the client as numbered steps that fit."""

from __future__ import annotations

from counterpoint.dialects.progress import watching


def test_each_sentence_is_one_more_step_of_an_unknown_number() -> None:
    """A client shows the number rise; how many there will be nobody knows."""
    heard: list[tuple[float, float | None, str]] = []

    def progress(done: float, total: float | None = None, message: str = "") -> None:
        heard.append((done, total, message))

    watch = watching(progress)
    watch("running make test")
    watch("x" * 500)
    assert heard[0] == (1, None, "running make test")
    assert heard[1][:2] == (2, None)
    assert len(heard[1][2]) <= 400
