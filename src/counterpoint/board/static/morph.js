// Lays a newer page over an older one, and leaves alone what a person is at: focus, typing, selection, scroll, what is open.
const policy = globalThis.trustedTypes?.createPolicy("board", { createHTML: (text) => text }) ?? { createHTML: (text) => text };
const OWN = new Set(["open", "data-next"]);
const BOUND = new Set(["version", "subject", "seen"]);

// Markup comes from this server alone, where every text in it was escaped.
export function parsePage(text) { return new DOMParser().parseFromString(policy.createHTML(text), "text/html"); }

export function morph(node, next) {
  if (node.nodeType !== next.nodeType || node.nodeName !== next.nodeName) {
    node.replaceWith(document.importNode(next, true));
  } else if (node.nodeType !== Node.ELEMENT_NODE) {
    if (node.data !== next.data) node.data = next.data;
  } else if (!isBound(node, next)) {
    const isTyped = isField(node) && (node === document.activeElement || isChanged(node));
    for (const { name } of [...node.attributes]) if (!next.hasAttribute(name) && !OWN.has(name)) node.removeAttribute(name);
    for (const { name, value } of next.attributes) {
      if (node.getAttribute(name) !== value && !OWN.has(name) && !(isTyped && name === "value")) node.setAttribute(name, value);
    }
    if (!isTyped) {
      morphChildren(node, next);
      if (isField(node) && node.type !== "checkbox" && node.type !== "radio" && node.value !== next.value) node.value = next.value;
    }
  }
}

export function morphChildren(node, next) {
  const byKey = new Map();
  for (const child of node.children) if (keyOf(child)) byKey.set(keyOf(child), child);
  let at = node.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    while (!key && at && keyOf(at)) at = at.nextSibling;
    const match = key ? byKey.get(key) : at?.nodeName === wanted.nodeName ? at : null;
    if (key) byKey.delete(key);
    if (match && match.nodeName === wanted.nodeName) {
      if (match === at) at = at.nextSibling;
      else place(node, match, at);
      morph(match, wanted);
    } else {
      node.insertBefore(document.importNode(wanted, true), at);
    }
    while (at && keyOf(at) && !byKey.has(keyOf(at))) at = at.nextSibling;
  }
  for (; at; ) [at] = [at.nextSibling, at.remove()];
  for (const child of byKey.values()) child.remove();
}

// What moves this way keeps its focus, its scroll and what plays in it.
export function place(parent, child, before) {
  if (parent.moveBefore && child.isConnected) parent.moveBefore(child, before);
  else parent.insertBefore(child, before);
}

function keyOf(node) { return node.nodeType === Node.ELEMENT_NODE ? node.dataset?.key || node.id : ""; }

function isField(node) { return node.matches("input, textarea, select"); }

function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.type !== "hidden" && field.value !== field.defaultValue;
}

// What a form is bound to stays what its reader has looked at; the newer value waits until they say so.
function isBound(field, next) {
  if (!field.matches('form.act > input[type="hidden"]') || !BOUND.has(field.name) || next.name !== field.name) return false;
  if (field.value !== next.value) field.dataset.next = next.value;
  else delete field.dataset.next;
  return true;
}
