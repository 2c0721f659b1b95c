"""The board at 10,000 items: first paint, pages, from a commit to the screen, and what open boards cost those who write."""

from __future__ import annotations

import http.client
import multiprocessing
import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from _measure import Row, asked, folder, graph, median, publish, row

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "board" / "browser")]

import stage  # noqa: E402 -- lies beside the tests
from playwright.sync_api import sync_playwright  # noqa: E402

from counterpoint.app import open_app  # noqa: E402
from counterpoint.core.model.filters import Note  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_ITEMS = 10_000
_PAGES = ("/", "/board", "/review")
_AGENTS = 8
_RATE = 20
"""Commits of all agents together in a second."""
_WRITERS = 16
_BOARDS = 50
_SITTINGS = 5
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_WATCH = """() => { window.seen = {}; const take = (row) => { seen[row.dataset.key] ??= Date.now(); };
  const list = document.getElementById("entries"); [...list.children].forEach(take);
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(take))).observe(list, { childList: true }); }"""


def main() -> None:
    """Measure, print, write; a round is a load of each page, and a second of writing."""
    wanted = asked(__doc__ or "", rounds=15)
    with folder() as root, stage.own_account(root / "account"), ExitStack() as stack:
        opened = stage.open_stage(root, stage.work)
        stack.callback(opened.close)
        graph(opened.core("planner"), "random", _ITEMS)
        playwright = stack.enter_context(sync_playwright())
        browser = stack.enter_context(stage.open_chromium(playwright))
        context = browser.new_context(reduced_motion="reduce")
        page = opened.log_in(context)
        rows = _paints(page, wanted.rounds) + _pages(page, context, wanted.rounds)
        rows.append(_latency(page, opened, 2 * wanted.rounds))
        if wanted.full:
            context.close()
            rows.append(_cost(opened, browser, wanted.rounds))
    publish("board", rows)


def _paints(page: Page, rounds: int) -> list[Row]:
    address = page.url.rstrip("/")
    milliseconds: dict[str, list[float]] = {}
    for number in range(-2, rounds):
        for path in ("/login", *_PAGES):
            page.goto(address + path)
            if number >= 0:
                milliseconds.setdefault(path, []).append(page.evaluate(_PAINT) / 1e3)
    floor = {"floor": median(milliseconds["/login"]), "beside": "a page without work"}
    return [row(f"first paint of {path}", milliseconds[path], **floor) for path in _PAGES]


def _pages(page: Page, context: BrowserContext, rounds: int) -> list[Row]:
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())
    parts, rows = urlsplit(page.url), list[Row]()
    wire = http.client.HTTPConnection(str(parts.hostname), parts.port)
    seconds: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    for _ in range(4 * rounds):
        for path in ("/healthz", *_PAGES):
            begin = time.perf_counter()
            wire.request("GET", path, headers={"cookie": cookie})
            sizes[path] = len(wire.getresponse().read())
            seconds.setdefault(path, []).append(time.perf_counter() - begin)
    floor = {"floor": median(seconds["/healthz"]), "beside": "/healthz"}
    for path in _PAGES:
        rows.append(row(f"{path}, from the server", seconds[path], **floor))
        rows.append(Row(what=f"{path}, bytes", figure=sizes[path], unit="B", most=60_000))
    scripts = (TESTS.parent / "src/counterpoint/board/static").glob("*.js")
    size = sum(len(script.read_bytes()) for script in scripts)
    return [*rows, Row(what="own script, all modules", figure=size, unit="B", most=30_000)]


def _latency(page: Page, opened: stage.Stage, seconds: int) -> Row:
    """Return how long after its commit an entry stands on the first page."""
    page.goto(page.url.partition("/review")[0] + "/")
    page.locator('body[data-live="live"]').wait_for()
    page.evaluate(_WATCH)
    first = opened.core("planner").feed.last()

    def agent(number: int) -> None:
        core = opened.core(f"agent-{number}")
        for place in range(seconds * _RATE // _AGENTS):
            time.sleep(max(0.0, began + (place + number / _AGENTS) * _AGENTS / _RATE - time.time()))
            core.journal.append(Note(kind="finding", body=f"{number} {place}"))

    began = time.time()
    threads = [threading.Thread(target=agent, args=(number,)) for number in range(_AGENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    page.wait_for_timeout(2_000)
    seen = page.evaluate("seen")
    lags: list[float] = []
    for start in range(first, opened.core("planner").feed.last(), 500):
        for entry in opened.core("planner").feed.entries(start, 500):
            if str(entry.sequence) in seen:
                moment = datetime.fromisoformat(entry.time).timestamp()
                lags.append(seen[str(entry.sequence)] / 1e3 - moment)
    tail = statistics.quantiles(lags, n=20)[-1] * 1e3
    middle = median(lags)
    return Row(
        what=f"commit to screen, 95th percentile, {_AGENTS} agents at {_RATE}/s together",
        figure=tail, unit="ms", floor=middle, beside="their median",
    )  # fmt: skip


def _write(folder_of: Path, ends: float, count: object) -> None:
    app = open_app(folder_of, os.environ)
    core = stage.core_of(app, multiprocessing.current_process().name)
    written = 0
    while time.time() < ends:
        core.journal.append(Note(kind="finding", body=f"note {written}"))
        written += 1
    count.put(written)  # type: ignore[attr-defined]
    app.close()


def _writes(opened: stage.Stage, seconds: int) -> float:
    counts: multiprocessing.Queue[int] = multiprocessing.Queue()
    ends = time.time() + seconds
    work = (opened.folder, ends, counts)
    processes = [multiprocessing.Process(target=_write, args=work) for _ in range(_WRITERS)]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return total / seconds


@contextmanager
def _boards(log_ins: list[tuple[str, int, str]]) -> Iterator[None]:
    """Have so many boards open, of several sittings, and read what they get."""
    wires: list[http.client.HTTPConnection] = []
    threads: list[threading.Thread] = []
    for number in range(_BOARDS):
        host, port, cookie = log_ins[number % len(log_ins)]
        wire = http.client.HTTPConnection(host, port)
        path = ("/live?page=/&seq=0", "/live?page=/board&seq=0")[number % 2]
        wire.request("GET", path, headers={"cookie": cookie})
        answer = wire.getresponse()
        assert answer.status == 200, answer.status  # noqa: PLR2004 -- open
        wires.append(wire)
        threads.append(threading.Thread(target=_read_all, args=(answer,), daemon=True))
        threads[-1].start()
    try:
        yield
    finally:
        for wire in wires:
            if wire.sock is not None:
                wire.sock.shutdown(socket.SHUT_RDWR)


def _read_all(answer: http.client.HTTPResponse) -> None:
    read: Callable[[], bytes] = answer.readline
    while read():
        pass


def _cost(opened: stage.Stage, browser: Browser, seconds: int) -> Row:
    """Return what 16 writers do beside 50 open boards, against the same without, in turn."""
    log_ins: list[tuple[str, int, str]] = []
    for _ in range(_SITTINGS):
        context = browser.new_context()
        parts = urlsplit(opened.log_in(context).url)
        cookie = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())
        log_ins.append((str(parts.hostname), parts.port or 0, cookie))
        context.close()
    alone, beside = list[float](), list[float]()
    for _ in range(3):
        alone.append(_writes(opened, seconds))
        with _boards(log_ins):
            beside.append(_writes(opened, seconds))
    return Row(
        what=f"{_WRITERS} writers beside {_BOARDS} open boards", figure=statistics.median(beside), unit="/s",
        floor=statistics.median(alone), beside="without boards", least=0.9,
    )  # fmt: skip


if __name__ == "__main__":
    main()
