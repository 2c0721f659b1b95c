// Moves cards by dragging, or by `m` on the card that has the focus: a dialog with the form of the item's own page.
import { addKey, currentRow, make, openDialog } from "/static/keys.js";

let dragged = null;

export function startMoving() {
  addKey("m", "move the card", () => openMove(currentRow()));
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".card[data-moves]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.item);
    for (const column of document.querySelectorAll(".column[data-category]")) column.classList.add(statesOf(dragged, column.dataset.category).length ? "may" : "may-not");
  });
  document.addEventListener("dragover", (event) => {
    if (dragged && event.target.closest?.(".column.may")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const column = event.target.closest?.(".column.may");
    if (!dragged || !column) return;
    event.preventDefault();
    openMove(dragged, column.dataset.category);
  });
  document.addEventListener("dragend", () => {
    dragged = null;
    for (const column of document.querySelectorAll(".column")) column.classList.remove("may", "may-not");
  });
}

function statesOf(card, category = "") {
  const moves = card.dataset.moves.split(" ").filter(Boolean).map((move) => move.split(":"));
  return moves.filter(([into]) => !category || into === category).map(([, status]) => status);
}

function openMove(card, category = "") {
  if (!card?.dataset.moves) return;
  const { query, seen } = document.querySelector(".swim").dataset;
  const token = document.querySelector('form[action="/logout"] input[name="token"]').value;
  const hidden = { token, version: card.dataset.version, seen, from: "board", query };
  const select = make("select", { name: "status" }, ...statesOf(card, category).map((status) => make("option", { value: status }, status)));
  const reason = make("input", { name: "reason", maxLength: 4000 });
  const form = make("form", { className: "act", method: "post", action: `/acts/move/${encodeURIComponent(card.dataset.item)}` },
    ...Object.entries(hidden).map(([name, value]) => make("input", { type: "hidden", name, value })),
    make("label", {}, "To ", select), make("label", {}, "Why ", reason), make("button", {}, "Move"));
  openDialog(`Move ${card.dataset.item}`, make("h2", {}, `Move ${card.dataset.item}`), form);
  reason.focus();
}
