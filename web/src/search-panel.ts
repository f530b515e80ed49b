// The form of the search: its condition and floors, its progress, its matches.

import { Conditions } from "./conditions";
import { several } from "./describe";
import { KINDS } from "./floor";
import type { Space, Spec } from "./generator";
import { parseNumber, parseRange, type SearchForm } from "./link";
import { parseSeed } from "./seed";
import { type Match, type Progress, Search } from "./search";
import { type Host as Tiles, tile } from "./tile";

const element = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

const DEFAULTS: SearchForm = { where: "kind == cavern && loops > 4", seeds: "0-9999", numbers: "1-20", limit: "20" };
/** The most matches that a search lists. */
const MAX_MATCHES = 500;
/** Side of the picture of a match, in CSS pixels. */
const SIDE = 48;
const EXAMPLES = [
  "kind == cavern && loops > 4", "locks >= 3 && critical_path > 25 * rooms", "kind == boss && secrets >= 2",
  "shops > 1", "vaults >= 2 && traps == 0", "theme == mire && kind == maze && difficulty < 4000",
];

/** The page around the panel. */
export interface Host extends Tiles {
  readonly specs: Spec[];
  readonly active: number;
  writeLink(): void;
  announce(text: string): void;
}

export class SearchPanel {
  #search?: Search;
  #touched = false;
  readonly #conditions: Conditions;

  constructor(readonly host: Host) {
    this.#conditions = new Conditions(element("conditions"), (expression) => this.#write(expression));
    this.showNames();
    const example = element<HTMLSelectElement>("example");
    example.append(...EXAMPLES.map((text) => new Option(text)));
    example.addEventListener("change", () => {
      if (!example.value) return;
      this.#conditions.clear();
      this.#write(example.value);
    });
    element("where").addEventListener("input", () => this.#conditions.clear());
    for (const name of Object.keys(DEFAULTS)) element(name).addEventListener("input", () => this.#edited());
    element("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#touched = true;
      this.host.writeLink();
      this.start();
    });
    element("cancel").addEventListener("click", () => this.cancel());
  }

  get #shown(): Spec {
    return this.host.specs[this.host.active];
  }

  /** What a link holds of the search: nothing until it is used. */
  get form(): SearchForm | undefined {
    if (!this.#touched) return undefined;
    const value = (name: string): string => element(name).value;
    return { where: value("where"), seeds: value("seeds"), numbers: value("numbers"), limit: value("limit") };
  }

  fill(form: SearchForm | undefined): void {
    this.#touched = form !== undefined;
    for (const [name, value] of Object.entries({ ...DEFAULTS, ...form })) element(name).value = value;
    this.#check();
  }

  /** Says what a condition may name. */
  showNames(): void {
    const { facts, kinds, themes } = this.host.generator.names();
    this.#conditions.offer(kinds, themes);
    element("names").textContent = `Facts: ${facts.join(", ")}. Kinds: ${kinds.join(", ")}. Themes: ${themes.join(", ")}. ` +
      "Operators: && || ! == != < <= > >= + - * / % and parentheses, as in floorctl search. The floors have the kind " +
      "and size of the floor that is shown. Put comparisons of kind and theme first: then other floors are not generated.";
  }

  /** Says which floors the search looks at. */
  showSpace(): void {
    const { width, height, kind } = this.#shown;
    element("search-title").textContent = kind || width !== 100 || height !== 100
      ? `Search floors of ${kind ? `kind ${KINDS[kind]}, ` : ""}${width}x${height}` : "Search";
  }

  #write(expression: string): void {
    element("where").value = expression;
    this.#edited();
  }

  #edited(): void {
    this.#touched = true;
    this.#check();
    this.host.writeLink();
  }

  /** Shows what is wrong with the condition, if anything is. */
  #check(): boolean {
    try {
      this.host.generator.setCondition(element("where").value);
      element("where-error").textContent = "";
      return true;
    } catch (error) {
      element("where-error").textContent = (error as Error).message;
      return false;
    }
  }

  start(): void {
    this.#search?.stop();
    element("matches").replaceChildren();
    if (!this.#check()) return element("where").focus();
    let space: Space;
    let total: bigint;
    let limit: number;
    try {
      const [firstSeed, lastSeed] = parseRange(element("seeds").value, parseSeed);
      const [first, last] = parseRange(element("numbers").value, parseNumber);
      limit = Number(element("limit").value);
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_MATCHES) throw new RangeError(`matches: 1 to ${MAX_MATCHES}`);
      space = { spec: { ...this.#shown, seed: firstSeed, number: first }, numbers: last - first + 1 };
      total = (lastSeed - firstSeed + 1n) * BigInt(space.numbers);
      if (total >= 2n ** 63n) throw new RangeError("these are more floors than can be counted; narrow the towers");
    } catch (error) {
      element("found").textContent = `${(error as Error).message}.`;
      return;
    }
    let matches = 0;
    element("cancel").disabled = false;
    element("found").textContent = "Searching …";
    this.#search = new Search(this.host.generator, element("where").value, space, total, limit, (match) => {
      matches++;
      this.#list(match, space.spec);
    }, (progress) => this.#progress(progress, matches), (message) => this.#ended(`The search failed: ${message}.`));
  }

  cancel(): void {
    this.#search?.stop();
    this.#ended(`Cancelled. ${element("found").textContent ?? ""}`);
  }

  #ended(text: string): void {
    this.#search = undefined;
    element("cancel").disabled = true;
    element("found").textContent = text;
    this.host.announce(text);
  }

  #progress({ looked, total, generated, failed, perSecond, ended }: Progress, matches: number): void {
    element<HTMLProgressElement>("progress").value = Number(looked) / Number(total);
    const text = `${matches === 1 ? "1 match" : `${matches} matches`} in ${looked.toLocaleString("en")} of ` +
      `${several(Number(total), "floor")}, ${generated.toLocaleString("en")} generated, ${failed ? `${failed.toLocaleString("en")} failed, ` : ""}` +
      `${Math.round(perSecond).toLocaleString("en")} a second.`;
    if (ended) this.#ended(text);
    else element("found").textContent = text;
  }

  #list({ seed, number, kind, facts }: Match, { width, height, kind: asked }: Spec): void {
    const spec = { seed, number, width, height, kind: asked };
    const button = tile(this.host, spec, SIDE, `${seed}/${number}`);
    const details = document.createElement("span");
    details.textContent = ` ${[...new Set([kind, ...facts.filter((fact) => !fact.startsWith("kind "))])].join(", ")}`;
    button.append(details);
    button.addEventListener("click", () => {
      if (this.#shown !== spec) return;
      for (const other of element("matches").querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
    });
    const item = document.createElement("li");
    item.append(button);
    element("matches").append(item);
  }
}
