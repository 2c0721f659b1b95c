"""The board in a real Chromium: keys, live updates, two people, reading without scripts, and what anybody can see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from counterpoint.board.routes import ROUTES
from counterpoint.core.model.filters import Note, Report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

expect = pytest.importorskip(
    "playwright.sync_api", reason="`make browser` installs what drives a browser"
).expect
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
PATIENCE_MS = 15_000


def pages_of(stage: Any) -> list[str]:
    """Answer the path of every page, and of those that have several forms each of them."""
    ids = stage.ids
    (session,) = {
        entry.actor.session for entry in stage.core("bob").audit.log(subject=ids["count"], limit=1)
    }
    return [
        *(f"/{name}" for name in ROUTES if name not in {"items", "edit"}), f"/edit/{ids['sill']}", "/new/plan", f"/items/{ids['gate']}", f"/items/{ids['agree']}",
        f"/review/{ids['chains']}", f"/board?below={ids['lock']}", "/board?lanes=phase", "/board?lanes=agent",
        "/board?lanes=label", "/proof?check=1", f"/sessions/{session}", "/search?q=gate",
    ]  # fmt: skip


def hand_in(stage: Any, title: str) -> str:
    """Have a phase done and handed in; answer its id."""
    core = stage.core("cleo")
    made = core.plans.create(
        core.plans.read(f"# {title}\n## {title} part\n- review: yes\n- [ ] Do {title}\n")
    )
    _, phase, task = (item.id for item in made.items)
    token = core.claims.start(task).claim.token
    core.tasks.finish(task, token, Report(outcome="done", summary="Done"))
    core.reviews.submit(phase, "", "All of it")
    return str(phase)


def focused(page: Page) -> str:
    """Answer the text of what has the focus."""
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_rows_are_moved_through_and_opened_by_keys(
    open_page: Callable[[str], Page], stage: Any
) -> None:
    page = open_page("/board")
    cards = page.locator(".column").first.locator(".cards a.title")
    page.keyboard.press("j")
    assert focused(page) == cards.nth(0).inner_text()
    page.keyboard.press("j")
    assert focused(page) == cards.nth(1).inner_text()
    page.keyboard.press("k")
    page.keyboard.press("l")
    assert focused(page) == page.locator("#column-active a.title").first.inner_text()
    page.keyboard.press("h")
    assert focused(page) == cards.nth(0).inner_text()
    page.keyboard.press(".")
    page.wait_for_url("**/items/*#why")
    page.go_back()
    page.wait_for_url("**/board")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/*")
    # A key that is typed into a field is a letter.
    page.keyboard.press("c")
    page.keyboard.type("jgb")
    assert page.evaluate("document.activeElement.value") == "jgb"
    page.keyboard.press("Escape")
    for key, path in (("n", "/"), ("b", "/board"), ("r", "/review"), ("p", "/proof")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{path}")
    assert stage.ids


def test_cards_are_moved_by_dragging_and_by_a_key(
    open_page: Callable[[str], Page], stage: Any
) -> None:
    page = open_page("/board")
    card = page.locator(f'[data-item="{stage.ids["hang"]}"]')
    card.drag_to(page.locator('.column[data-category="dropped"]'))
    dialog = page.get_by_role("dialog")
    assert dialog.locator("option").all_inner_texts() == ["cancelled"]
    page.keyboard.type("No crane")
    page.keyboard.press("Enter")
    expect(page.locator("#column-dropped")).to_contain_text("Hang the gate")
    # Into work nothing is dragged: who works on it starts it.
    page.locator(f'[data-item="{stage.ids["sill"]}"]').drag_to(
        page.locator('.column[data-category="active"]')
    )
    expect(dialog).to_have_count(0)
    page.locator(f'[data-item="{stage.ids["hang"]}"] a').focus()
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    expect(page.locator("#column-open")).to_contain_text("Hang the gate")


def test_a_review_is_read_and_answered_by_keys(
    open_page: Callable[[str], Page], stage: Any
) -> None:
    chains = stage.ids["chains"]
    following = hand_in(stage, "Ropes")
    page = open_page(f"/review/{chains}")
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{following}")
    page.go_back()
    page.locator('body[data-live="live"]').wait_for()
    page.keyboard.press("d")
    assert page.evaluate("document.activeElement.matches('details.file > summary')")
    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.closest('form').action").endswith(
        f"approve/{chains}"
    )
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    assert page.evaluate("document.activeElement.name") == "reason"
    page.keyboard.type("Weigh it")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/review")
    rejection = stage.core("ada").overview.facets(chains).rejection
    assert rejection is not None
    assert rejection.reason == "Weigh it"


def test_the_palette_and_the_list_of_keys(open_page: Callable[[str], Page], stage: Any) -> None:
    page = open_page("/board")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("the next row")
    page.get_by_label("Single keys act").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("?")
    page.get_by_label("Single keys act").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("proo")
    page.keyboard.press("Enter")
    page.wait_for_url("**/proof")
    page.keyboard.press("Control+k")
    page.keyboard.type(stage.ids["mole"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/items/{stage.ids['mole']}")


def test_pages_change_while_agents_work_and_nothing_typed_is_lost(
    open_page: Callable[[str], Page], stage: Any
) -> None:
    page = open_page(f"/items/{stage.ids['teach']}")
    field = page.locator('textarea[data-keys="c"]')
    field.fill("half a sent")
    field.evaluate("element => { element.focus(); element.setSelectionRange(2, 5); }")
    stage.core("bob").journal.append(Note(kind="finding", body="They like models", item=stage.ids["teach"]))  # fmt: skip
    expect(page.locator("main")).to_contain_text("They like models", timeout=PATIENCE_MS)
    state = field.evaluate("element => [element.value, element.selectionStart, element.selectionEnd, element === document.activeElement]")  # fmt: skip
    assert state == ["half a sent", 2, 5, True]


def test_eight_agents_write_and_every_page_ends_where_the_ledger_is(
    context: BrowserContext, open_page: Callable[[str], Page], stage: Any
) -> None:
    page = open_page("/board")
    other = context.new_page()
    other.goto(page.url.replace("/board", "/"))
    other.locator('body[data-live="live"]').wait_for()
    made = stage.core("dora").plans.create(
        stage.core("dora").plans.read("# Nets\n" + "".join(f"- [ ] Net {n}\n" for n in range(16)))
    )

    def agent(number: int) -> None:
        core = stage.core(f"agent-{number}")
        for item in made.items[1 + 2 * number : 3 + 2 * number]:
            token = core.claims.start(item.id).claim.token
            core.tasks.finish(item.id, token, Report(outcome="done", summary="Tied"))

    threads = [threading.Thread(target=agent, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = stage.core("dora").feed.last()
    for shown in (page, other):
        expect(shown.locator(f'body[data-seq="{last}"]')).to_be_attached(timeout=PATIENCE_MS)
        before = shown.locator("main").inner_text()
        shown.reload()
        # Times go on while the page is loaded again; nothing else may differ.
        assert _without_times(before) == _without_times(shown.locator("main").inner_text())


def _without_times(text: str) -> list[str]:
    return [word for word in text.split() if word not in {"s", "min", "h"} and not word.isdigit()]


def test_two_people_look_at_one_item_and_the_second_is_asked(
    chromium: Browser, open_page: Callable[[str], Page], stage: Any
) -> None:
    phase = hand_in(stage, "Sails")
    page = open_page(f"/review/{phase}")
    second = chromium.new_context(reduced_motion="reduce")
    try:
        other = stage.log_in(second)
        other.goto(page.url)
        other.keyboard.press("x")
        other.keyboard.type("Sew it again")
        other.keyboard.press("Control+Enter")
        expect(page.locator(".changed")).to_contain_text("Others changed this", timeout=PATIENCE_MS)
        expect(page.locator("main")).to_contain_text("Sew it again")
        page.keyboard.press("x")
        page.keyboard.type("Too small")
        page.keyboard.press("Control+Enter")
        expect(page.locator("h1")).to_have_text("Nothing was done.")
        expect(page.locator("main")).to_contain_text("was changed by others")
    finally:
        second.close()


def test_a_page_that_slept_catches_up_and_one_without_a_server_says_so(
    context: BrowserContext, open_page: Callable[[str], Page], stage: Any
) -> None:
    page = open_page("/")
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    for offline in (True, False):
        wire.send("Network.emulateNetworkConditions", {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})  # fmt: skip
        if offline:
            # A stream that is open is not cut by that; what is asked for from now on is.
            page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
            expect(page.locator('body[data-live="not live"]')).to_be_attached(timeout=PATIENCE_MS)
            expect(page.locator(".pulse")).to_have_text("not live")
            for number in range(30):
                stage.core("bob").journal.append(Note(kind="finding", body=f"Fog {number}"))
    expect(page.locator('body[data-live="live"]')).to_be_attached(timeout=PATIENCE_MS)
    last = stage.core("bob").feed.last()
    expect(page.locator(f'body[data-seq="{last}"]')).to_be_attached(timeout=PATIENCE_MS)


def test_every_page_is_read_without_scripts(chromium: Browser, stage: Any) -> None:
    context = chromium.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"file://{stage.run('board', '--no-open')}")
        page.get_by_role("button", name="Open the board").click()
        page.wait_for_url("http://127.0.0.1:*/**")
        address = "http://" + urlsplit(page.url).netloc
        for path in pages_of(stage):
            page.goto(address + path)
            assert len(page.locator("main").inner_text()) > 50, path
            is_in_bar = not path.startswith(("/items/", "/edit/"))
            assert (page.locator(".bar a[aria-current]").count() == 1) is is_in_bar, path
    finally:
        context.close()


def test_no_page_is_wider_than_its_window(open_page: Callable[[str], Page], stage: Any) -> None:
    for path in pages_of(stage):
        page = open_page(path)
        for width in (390, 1280, 2200):
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, (path, width, scheme)


def test_axe_has_nothing_to_say(
    context: BrowserContext, open_page: Callable[[str], Page], stage: Any, axe: str
) -> None:
    findings: list[str] = []
    for path in pages_of(stage):
        page = open_page(path)
        wire = context.new_cdp_session(page)
        frame = wire.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        # In the dark only colours differ.
        for scheme, rules in (("light", ""), ("dark", ", runOnly: ['color-contrast']")):
            page.emulate_media(color_scheme=scheme)
            # In a world of its own the page's policy does not hold.
            world = wire.send("Page.createIsolatedWorld", {"frameId": frame})["executionContextId"]
            wire.send("Runtime.evaluate", {"contextId": world, "expression": axe})
            answer = wire.send("Runtime.evaluate", {
                "contextId": world, "awaitPromise": True, "returnByValue": True,
                "expression": f"axe.run({{resultTypes: ['violations']{rules}}}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')))",
            })  # fmt: skip
            findings += [f"{path} {scheme} {finding}" for finding in answer["result"]["value"]]
        wire.detach()
    assert not findings


def test_no_other_page_frames_posts_or_reads_the_board(
    chromium: Browser, page: Page, stage: Any, tmp_path: Any
) -> None:
    address = page.url.rstrip("/")
    before = stage.core("bob").feed.last()
    (tmp_path / "evil.html").write_text(
        f'<iframe src="{address}/board"></iframe>'
        f'<form method="post" action="{address}/acts/comment/{stage.ids["gate"]}"><input name="reason" value="x"><button>Win</button></form>'
    )
    # A profile of its own, for what the browser says about it is what is to happen.
    context = chromium.new_context(storage_state=page.context.storage_state())
    evil = context.new_page()
    evil.goto(f"file://{tmp_path}/evil.html")
    frame = evil.frames[1]
    assert "Harbour" not in (frame.evaluate("document.documentElement.textContent") or "")
    evil.get_by_role("button", name="Win").click()
    evil.wait_for_url("**/acts/**")
    assert "may not" in evil.inner_text("body")
    assert stage.core("bob").feed.last() == before
    context.close()


def test_texts_of_agents_run_nothing(
    context: BrowserContext, open_page: Callable[[str], Page], stage: Any
) -> None:
    core = stage.core("mallory")
    hostile = "<img src=x onerror=\"document.title='gone'\"><script>document.title='gone'</script>"
    made = core.plans.create(core.plans.read(f"# {hostile}\n- [ ] {hostile}\n"))
    item = made.items[1].id
    page = open_page(f"/items/{item}")
    # By a message, by a page that is laid over, and by a page that is loaded.
    core.journal.append(Note(kind="blocker", body=hostile, item=item))
    expect(page.locator("main")).to_contain_text("onerror", timeout=PATIENCE_MS)
    for path in ("/", "/board", f"/items/{item}"):
        page = open_page(path)
        core.journal.append(Note(kind="blocker", body=f"{hostile} {path}", item=item))
        last = core.feed.last()
        expect(page.locator(f'body[data-seq="{last}"]')).to_be_attached(timeout=PATIENCE_MS)
        assert page.locator("main img, main script").count() == 0
        assert page.title() != "gone"
