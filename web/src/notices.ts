// What the page tells: to screen readers, above the map, and on a button.

import { element } from "./element";

/** Has screen readers read a text. */
export function announce(text: string): void {
  // A repeated text is announced only if it is new.
  element("announcer").replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));
}

/** Shows what went wrong until it is closed; an empty text closes it. */
export function showAlert(text: string): void {
  const alert = element("alert");
  alert.replaceChildren();
  if (!text) return;
  const message = Object.assign(document.createElement("p"), { textContent: text });
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close" });
  close.addEventListener("click", () => alert.replaceChildren());
  alert.append(message, close);
}

/** Shows another text on a button for a moment. */
export function flash(id: string, text: string): void {
  const button = element(id);
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => (button.textContent = before), 1500);
}
