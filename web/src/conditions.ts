// A form for common conditions, which writes the expression of the search.

/** What can be asked for: the words of the form, a fact, and how it is compared. */
const BOUNDS = [
  ["Rooms", "rooms", ">="], ["Loops", "loops", ">="], ["Locks", "locks", ">="], ["Secrets", "secrets", ">="],
  ["Shops", "shops", ">="], ["Steps", "critical_path", "<="],
] as const;

export class Conditions {
  readonly #names: Record<"kind" | "theme", HTMLSelectElement>;
  readonly #bounds: HTMLInputElement[];

  /** `written` gets the expression after each change. */
  constructor(root: HTMLElement, written: (expression: string) => void) {
    this.#names = { kind: document.createElement("select"), theme: document.createElement("select") };
    this.#bounds = BOUNDS.map(() => Object.assign(document.createElement("input"), { inputMode: "numeric", size: 5, autocomplete: "off", pattern: "[0-9]*" }));
    const label = (text: string, control: HTMLElement): HTMLElement => {
      const element = document.createElement("label");
      element.append(`${text} `, control);
      return element;
    };
    root.append(
      ...(["kind", "theme"] as const).map((name) => label(name === "kind" ? "Kind" : "Theme", this.#names[name])),
      ...this.#bounds.map((input, at) => {
        const [text, , compared] = BOUNDS[at];
        input.setAttribute("aria-label", `${text}, at ${compared === ">=" ? "least" : "most"}`);
        return label(`${text} ${compared === ">=" ? "≥" : "≤"}`, input);
      }),
    );
    for (const control of [...Object.values(this.#names), ...this.#bounds]) {
      control.addEventListener("input", () => written(this.#expression));
    }
  }

  /** Offers the names of the open pack. */
  offer(kinds: string[], themes: string[]): void {
    for (const [name, values] of [["kind", kinds], ["theme", themes]] as const) {
      const select = this.#names[name];
      const { value } = select;
      select.replaceChildren(new Option("any", ""), ...values.map((text) => new Option(text.replaceAll("_", " "), text)));
      select.value = values.includes(value) ? value : "";
    }
  }

  /** Empties the form: the expression was written by hand. */
  clear(): void {
    for (const control of [...Object.values(this.#names), ...this.#bounds]) control.value = "";
  }

  /** Without any condition every floor is wanted. */
  get #expression(): string {
    const names = Object.entries(this.#names).filter(([, { value }]) => value).map(([name, { value }]) => `${name} == ${value}`);
    const bounds = this.#bounds.flatMap(({ value }, at) => (/^\d+$/.test(value) ? `${BOUNDS[at][1]} ${BOUNDS[at][2]} ${value}` : []));
    return [...names, ...bounds].join(" && ") || "rooms > 0";
  }
}
