// Keeps the page up to date (protocol: board/pump.py), and says when it is not.
import { morph, morphChildren, parsePage, place } from "/static/morph.js";

const SILENT_MS = 20_000;
const SETTLED_MS = 1_000;
const UNITS = [["d", 86_400], ["h", 3_600], ["min", 60], ["s", 1]];
let sequence = Number(document.body.dataset.seq);
let [source, heardAt, retryMs, settling] = [null, Date.now(), 1_000, 0];
let [isLoading, isStale, waiting] = [false, false, []];
const pulse = document.createElement("output");
const notice = document.createElement("div");

export function startLive() {
  pulse.className = "pulse";
  document.querySelector(".bar .you")?.before(pulse);
  notice.className = "changed";
  notice.setAttribute("role", "status");
  document.querySelector("main").before(notice);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  setInterval(watch, 1_000);
  setInterval(countTime, 5_000);
  if (!document.hidden) open();
}

function open() {
  close();
  heardAt = Date.now();
  source = new EventSource(`/live?page=${encodeURIComponent(location.pathname + location.search)}&seq=${sequence}`);
  source.addEventListener("alive", hear);
  source.addEventListener("stale", () => { hear(); load(); });
  source.addEventListener("change", (event) => { hear(); take(JSON.parse(event.data)); });
  source.addEventListener("error", lose);
}

function close() { source?.close(); source = null; }

function hear() { [heardAt, retryMs] = [Date.now(), 1_000]; say("live"); }

function lose() {
  close();
  say("not live", "This page is not up to date: the server does not answer. It is tried again.");
  setTimeout(() => !document.hidden && !source && open(), retryMs);
  retryMs = Math.min(2 * retryMs, 10_000);
}

// After a sleep the clock has gone on and nothing was heard.
function watch() {
  if (source && Date.now() - heardAt > SILENT_MS) {
    say("not live", "This page is not up to date: nothing was heard for 20 seconds.");
    open();
  }
}

function say(state, why = "") {
  if (pulse.textContent === state) return;
  pulse.textContent = state;
  pulse.title = why;
  document.body.dataset.live = state;
}

async function load() {
  isStale = isLoading;
  if (isLoading) return;
  isLoading = true;
  clearTimeout(settling);
  try {
    const response = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } });
    if (response.status === 403) return end();
    if (response.status < 500) lay(parsePage(await response.text()));
  } catch {
    lose();
  } finally {
    isLoading = false;
  }
  const messages = waiting;
  waiting = [];
  if (isStale) return load();
  messages.forEach(take);
}

function lay(page) {
  sequence = Number(page.body.dataset.seq ?? sequence);
  document.body.dataset.seq = sequence;
  document.title = page.title;
  const main = document.querySelector("main");
  const [left, top] = [scrollX, scrollY];
  const rows = rowsBesideFocus();
  main.className = page.querySelector("main").className;
  morphChildren(main, page.querySelector("main"));
  scrollTo(left, top);
  keepFocus(rows);
  askAboutForms();
}

function take(message) {
  if (isLoading) return waiting.push(message);
  if (message.seq <= sequence) return;
  clearTimeout(settling);
  // The page was loaded between two rounds: what changed there and back again, no message tells.
  if (message.since < sequence) settling = setTimeout(load, SETTLED_MS);
  sequence = message.seq;
  const rows = rowsBesideFocus();
  const isWhole = Object.entries(message.lists).every(([id, list]) => layRows(document.getElementById(id), list));
  for (const [id, markup] of Object.entries(message.text)) {
    const element = document.getElementById(id);
    if (element) morphChildren(element, parsePage(markup).body);
  }
  keepFocus(rows);
  document.body.dataset.seq = sequence;
  if (!isWhole) load();
}

function layRows(list, { order, html }) {
  if (!list) return false;
  const byKey = new Map([...list.children].map((row) => [row.dataset.key, row]));
  if (!order.every((key) => byKey.has(key) || key in html)) return false;
  const keys = new Set(order);
  for (const [key, row] of byKey) if (!keys.has(key)) row.remove();
  let at = list.firstElementChild;
  for (const key of order) {
    const next = key in html ? parsePage(html[key]).body.firstElementChild : null;
    const row = byKey.get(key) ?? document.importNode(next, true);
    if (row === at) at = at.nextElementSibling;
    else place(list, row, at);
    if (next && byKey.has(key)) morph(row, next);
  }
  return true;
}

// Whoever stands on a row that leaves goes on with its neighbour.
function rowsBesideFocus() { const row = document.activeElement?.closest("li"); return row ? [row, row.nextElementSibling, row.previousElementSibling] : []; }

function keepFocus(rows) { if (rows.length && document.activeElement === document.body) { rows.find((row) => row?.isConnected)?.querySelector("a[href]")?.focus({ preventScroll: true }); } }

function askAboutForms() {
  const fields = [...document.querySelectorAll("form.act > input[data-next]")];
  notice.replaceChildren();
  if (!fields.some((field) => field.name !== "seen")) return;
  const button = document.createElement("button");
  button.textContent = "I have seen it: act on what it is now";
  button.addEventListener("click", () => {
    for (const field of document.querySelectorAll("form.act > input[data-next]")) {
      field.value = field.dataset.next;
      delete field.dataset.next;
    }
    notice.replaceChildren();
  });
  notice.append("Others changed this while you looked at it. ", button);
}

function end() { close(); say("logged out", "This sitting is over. Type `counterpoint board` to log in."); }

function countTime() {
  for (const element of document.querySelectorAll("time[data-span]")) {
    const seconds = Math.abs(Date.now() - Date.parse(element.dateTime)) / 1_000;
    const [unit, length] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3];
    const text = `${Math.floor(seconds / length)} ${unit}`;
    if (element.textContent !== text) element.textContent = text;
  }
}
