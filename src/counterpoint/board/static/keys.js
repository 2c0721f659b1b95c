// Keys, the palette and the list of keys. What a key does stands on its element: `data-keys="g b"` on a link, `data-keys="a"` on a field.
const ROWS = "main .cards > li, main .rows > li";
const MOVES = [
  ["j", "the next row"], ["k", "the row before"], ["h", "the column to the left"], ["l", "the column to the right"],
  ["Enter", "open it"], ["/", "search"], ["d", "what changed; the next file"], [".", "why it waits"],
  ["Ctrl-Enter", "send the form"], ["Esc", "leave the field"], ["Ctrl-K", "palette"], ["?", "these keys"],
];
// Pages in a menu that is closed have their keys too.
const hotElements = () => [...document.querySelectorAll("[data-keys]")].filter((element) => element.offsetParent !== null || element.closest(".bar nav"));
const OFF = "counterpoint-single-keys-off";
const added = new Map();
let prefix = "";
let prefixTimer = 0;

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    const key = event.key;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && key.toLowerCase() === "k") openPalette();
    else if ((event.ctrlKey || event.metaKey) && key === "Enter") send(event.target);
    else if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    else if (isTyping(event.target)) { if (key === "Escape") event.target.blur(); return; }
    else if (key.length !== 1 || (localStorage.getItem(OFF) && key !== "?") || !press(key)) return;
    event.preventDefault();
  });
}

export function addKey(key, words, run) { added.set(key, run); MOVES.splice(-2, 0, [key, words]); }

function press(key) {
  const keys = prefix ? `${prefix} ${key}` : key;
  prefix = "";
  clearTimeout(prefixTimer);
  const element = hotElements().find((hot) => hot.dataset.keys === keys);
  if (element) return use(element);
  if (keys === "g") {
    prefix = "g";
    prefixTimer = setTimeout(() => { prefix = ""; }, 1_500);
    return true;
  }
  const act = { j: () => step(1), k: () => step(-1), h: () => stepAcross(-1), l: () => stepAcross(1), "/": search, d: showDiff, ".": showWhy, "?": openHelp }[keys] ?? added.get(keys);
  if (act) act();
  return Boolean(act);
}

function use(element) { if (element.matches("input, textarea, select")) element.focus(); else element.click(); return true; }

function isTyping(element) { return element.matches?.("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit])") || element.isContentEditable; }

function linkOf(row) { return row?.querySelector("a[href]"); }

export function currentRow() { return document.activeElement?.closest(ROWS); }

function step(by) {
  const row = currentRow();
  const scope = row?.closest(".column") ?? document;
  const rows = [...scope.querySelectorAll(ROWS)].filter((other) => linkOf(other) && other.offsetParent !== null);
  linkOf(rows[row ? rows.indexOf(row) + by : by > 0 ? 0 : rows.length - 1])?.focus();
}

function stepAcross(by) {
  const row = currentRow();
  if (!row?.closest(".column")) return step(by);
  const columns = [...row.closest(".lanes").querySelectorAll(".column")];
  const index = [...row.parentElement.children].indexOf(row);
  for (let at = columns.indexOf(row.closest(".column")) + by; columns[at]; at += by) {
    const rows = [...columns[at].querySelectorAll(ROWS)];
    if (rows.length) return linkOf(rows[Math.min(index, rows.length - 1)])?.focus();
  }
}

function search() {
  const field = document.querySelector('input[type="search"]');
  const page = document.querySelector('.bar nav a[href="/search"]');
  if (field) field.focus();
  else if (page) page.click();
  else openPalette();
}

function showDiff() {
  const files = [...document.querySelectorAll("details.file > summary")];
  const next = files[(files.indexOf(document.activeElement) + 1) % files.length] ?? document.getElementById("diff");
  const link = linkOf(currentRow());
  if (next) bringUp(next);
  else if (link?.pathname.startsWith("/items/")) location.assign(link.pathname.replace("/items/", "/review/") + "#diff");
}

function showWhy() {
  const link = linkOf(currentRow());
  const why = document.getElementById("why");
  if (link && !(why && link.pathname === location.pathname)) location.assign(`${link.pathname}#why`);
  else if (why) bringUp(why);
}

function bringUp(element) { if (!element.matches("summary")) element.tabIndex = -1; element.focus({ preventScroll: true }); element.scrollIntoView({ block: "start" }); }

function send(element) { element.closest?.("form")?.requestSubmit(); }

export function openDialog(label, ...content) {
  document.querySelector("dialog.keys")?.remove();
  const dialog = make("dialog", { className: "keys", ariaLabel: label }, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function openHelp() {
  const hot = hotElements().map((element) => [element.dataset.keys, nameOf(element)]);
  const rows = [...MOVES, ...hot].map(([key, words]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, words)));
  const box = make("input", { type: "checkbox", checked: !localStorage.getItem(OFF) });
  box.addEventListener("change", () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")));
  const dialog = openDialog("Keys", make("h2", {}, "Keys"), make("table", {}, make("tbody", {}, ...rows)), make("label", {}, box, " Single keys act"), make("button", { value: "close" }, "Close"));
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
}

function nameOf(element) {
  return element.title || element.ariaLabel || element.closest("form.act")?.querySelector("button")?.textContent || element.textContent.trim();
}

function choicesFor(text) {
  const choices = hotElements().map((element) => ({ words: nameOf(element), key: element.dataset.keys, run: () => use(element) }));
  for (const row of document.querySelectorAll(ROWS)) {
    const link = linkOf(row);
    if (link) choices.push({ words: link.textContent.trim(), key: row.querySelector(".id")?.textContent ?? "", run: () => link.click() });
  }
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = choices.filter(({ words, key }) => wanted.every((word) => `${words} ${key}`.toLowerCase().includes(word))).slice(0, 12);
  if (/^\S+-\d+$/.test(text)) fitting.unshift({ words: `Open ${text}`, key: "", run: () => location.assign(`/items/${encodeURIComponent(text)}`) });
  if (text && document.querySelector('.bar nav a[href="/search"]')) fitting.push({ words: `Search for “${text}”`, key: "/", run: () => location.assign(`/search?q=${encodeURIComponent(text)}`) });
  return fitting;
}

function openPalette() {
  const list = make("ul", { id: "palette-list", role: "listbox", ariaLabel: "Choices" });
  const field = make("input", { type: "text", placeholder: "A page, an act or an item", ariaLabel: "Palette", autocomplete: "off", role: "combobox", ariaExpanded: "true" });
  field.setAttribute("aria-controls", list.id);
  let choices = [];
  let chosen = 0;
  const draw = () => {
    list.replaceChildren(...choices.map(({ words, key }, index) => make("li", { role: "option", id: `choice-${index}`, ariaSelected: String(index === chosen) }, words, make("kbd", {}, key))));
    field.setAttribute("aria-activedescendant", choices.length ? `choice-${chosen}` : "");
  };
  const fill = () => { [choices, chosen] = [choicesFor(field.value.trim()), 0]; draw(); };
  const dialog = openDialog("Palette", field, list);
  const run = (choice) => { dialog.close(); choice?.run(); };
  field.addEventListener("input", fill);
  field.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) chosen = (chosen + by + choices.length) % Math.max(choices.length, 1);
    else if (event.key === "Enter") return event.preventDefault(), run(choices[chosen]);
    else return;
    event.preventDefault();
    draw();
  });
  list.addEventListener("click", (event) => run(choices[[...list.children].indexOf(event.target.closest("li"))]));
  field.focus();
  fill();
}

export function make(name, attributes, ...children) { const element = Object.assign(document.createElement(name), attributes); element.append(...children); return element; }
