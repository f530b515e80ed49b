// The list of a pack's files, the editor of one of them, and the list of errors.

import { several } from "./describe";
import type { PackError } from "./generator";
import { type Files, isText } from "./pack-files";

const element = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

/** The most lines that get a number, and the most errors that are listed. */
const MAX_LINES = 20_000;
const MAX_ERRORS = 200;

export class PackEditor {
  files: Files = new Map();
  #path = "";
  #errors: PackError[] = [];
  #lines = 0;
  #listed = "";
  readonly #list = element<HTMLSelectElement>("pack-files");
  readonly #text = element<HTMLTextAreaElement>("pack-text");
  readonly #numbers = element("pack-lines");

  constructor(readonly changed: () => void, readonly announce: (text: string) => void) {
    this.#list.addEventListener("change", () => this.show(this.#list.value));
    this.#text.addEventListener("input", () => {
      this.files.set(this.#path, this.#text.value);
      this.#numberLines();
      this.changed();
    });
    this.#text.addEventListener("scroll", () => (this.#numbers.scrollTop = this.#text.scrollTop));
    element("pack-add").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add(element("pack-path").value.trim());
    });
    element("pack-remove").addEventListener("click", () => this.#remove());
  }

  open(files: Files): void {
    this.files = files;
    this.#errors = [];
    this.#fillList();
    this.show(files.has("pack.toml") ? "pack.toml" : [...files.keys()][0] ?? "");
    this.#listErrors();
  }

  /** Shows a file in the editor. */
  show(path: string): void {
    this.#path = path;
    this.#list.value = path;
    const content = this.files.get(path);
    this.#text.readOnly = typeof content !== "string";
    this.#text.value = typeof content === "string" ? content : content ? `${several(content.length, "byte")}, no text` : "";
    this.#text.setAttribute("aria-label", path ? `Text of ${path}` : "No file");
    this.#text.scrollTop = 0;
    this.#numberLines(true);
  }

  showErrors(errors: PackError[]): void {
    this.#errors = errors;
    this.#fillList();
    this.#numberLines(true);
    this.#listErrors();
  }

  #add(path: string): void {
    if (!path || this.files.has(path)) {
      this.announce(path ? `There is a file ${path}.` : "Write the path of the new file.");
      if (path) this.show(path);
      return;
    }
    this.files.set(path, isText(path) ? "" : new Uint8Array());
    element("pack-path").value = "";
    this.#fillList();
    this.show(path);
    this.#text.focus();
    this.changed();
  }

  #remove(): void {
    if (!this.files.delete(this.#path)) return;
    this.announce(`${this.#path} is removed.`);
    this.#fillList();
    this.show([...this.files.keys()].sort()[0] ?? "");
    this.changed();
  }

  #fillList(): void {
    const errors = new Map<string, number>();
    for (const { file } of this.#errors) errors.set(file, (errors.get(file) ?? 0) + 1);
    const names = [...this.files.keys()].sort().map((path) => {
      const count = errors.get(path);
      return [path, count ? `${path} (${several(count, "error")})` : path] as const;
    });
    const listed = JSON.stringify(names);
    // A key changes the list seldom.
    if (listed !== this.#listed) this.#list.replaceChildren(...names.map(([path, name]) => new Option(name, path)));
    this.#listed = listed;
    this.#list.value = this.#path;
  }

  /** Writes the numbers of the lines, if there are other lines or `again`. Those of lines with errors are marked. */
  #numberLines(again = false): void {
    const lines = this.#text.value.split("\n").length;
    if (lines === this.#lines && !again) return;
    this.#lines = lines;
    const wrong = new Set(this.#errors.filter(({ file }) => file === this.#path).map(({ line }) => line));
    const parts: (string | HTMLElement)[] = [];
    let plain = "";
    for (let line = 1; line <= Math.min(lines, MAX_LINES); line++) {
      if (wrong.has(line)) {
        parts.push(plain, Object.assign(document.createElement("mark"), { textContent: String(line) }));
        plain = "\n";
      } else {
        plain += `${line}\n`;
      }
    }
    this.#numbers.replaceChildren(...parts, plain);
    this.#numbers.scrollTop = this.#text.scrollTop;
    this.#text.setAttribute("aria-invalid", String(wrong.size > 0));
  }

  #listErrors(): void {
    element("pack-errors").replaceChildren(...this.#errors.slice(0, MAX_ERRORS).map((error) => {
      const { file, line, column, message } = error;
      const [item, button, place] = [document.createElement("li"), document.createElement("button"), document.createElement("span")];
      button.type = "button";
      place.textContent = [file, ...[line, column].filter((part) => part > 0)].join(":");
      button.append(place, ` ${message}`);
      button.addEventListener("click", () => this.#goTo(error));
      item.append(button);
      return item;
    }));
  }

  /** Puts the caret at an error. */
  #goTo({ file, line, column }: PackError): void {
    if (!this.files.has(file)) return this.announce(`There is no file ${file}.`);
    this.show(file);
    const lines = this.#text.value.split("\n");
    const before = lines.slice(0, Math.max(line - 1, 0)).reduce((sum, { length }) => sum + length + 1, 0);
    // Columns count characters, and a caret's place counts code units.
    const inLine = [...(lines[line - 1] ?? "")].slice(0, Math.max(column - 1, 0)).join("").length;
    this.#text.focus();
    this.#text.setSelectionRange(before + inLine, before + inLine);
    const height = parseFloat(getComputedStyle(this.#text).lineHeight);
    this.#text.scrollTop = Math.max(0, (line - 4) * height);
  }
}
