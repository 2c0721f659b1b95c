// Looks at a plan while it is typed, takes the text of a file that is chosen or dropped, and a line that is clicked into its form.
import { parsePage } from "/static/morph.js";

const PAUSE_MS = 500;
const MAX_BYTES = 2_000_000;
const drop = document.querySelector(".drop");
if (drop) {
  const form = drop.closest("form");
  const note = document.createElement("p");
  note.setAttribute("role", "status");
  drop.append(note);
  drop.hidden = false;
  const take = async (file) => {
    if (!file) return;
    if (file.size > MAX_BYTES) {
      note.textContent = `${file.name} is too large for a browser: counterpoint import takes it.`;
      return;
    }
    form.elements.text.value = await file.text();
    form.elements.file.value = file.name;
    const suffix = file.name.toLowerCase().split(".").pop();
    const tool = { md: "markdown", csv: "linear", jsonl: "beads" }[suffix];
    if (tool && [...form.elements.tool.options].some((option) => option.value === tool)) form.elements.tool.value = tool;
    note.textContent = `${file.name} is read. Look at it before you import it.`;
  };
  drop.querySelector("input").addEventListener("change", (event) => take(event.target.files[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
  }
}
const plan = document.querySelector('form#new[action="/acts/plan/"]');
let pause = 0;
let asked = 0;
plan?.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(look, PAUSE_MS);
});

async function look() {
  const turn = ++asked;
  const answer = await fetch("/new/plan", { method: "POST", body: new URLSearchParams(new FormData(plan)) });
  if (!answer.ok || turn !== asked) return;
  const page = parsePage(await answer.text());
  document.getElementById("look").replaceChildren(...page.getElementById("look").childNodes);
  const words = page.querySelector("button.approve").textContent;
  plan.querySelector("button.approve").textContent = words;
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest(".diff td.num");
  const form = cell?.textContent && cell.closest("details.file").querySelector("details.line form");
  if (!form) return;
  form.elements.line.value = cell.textContent;
  form.elements.side.value = cell.nextElementSibling.classList.contains("num") && !cell.nextElementSibling.textContent ? "old" : "new";
  if (form.elements.side.value === "new" && cell.nextElementSibling.classList.contains("num")) form.elements.line.value = cell.nextElementSibling.textContent;
  form.closest("details").open = true;
  form.elements.reason.focus();
});
