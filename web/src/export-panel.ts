// The dialog that exports the floor for editors and virtual tabletops.

import { element } from "./element";
import type { Exported, Wanted } from "./export-worker";
import { View } from "./floor";
import type { Generator } from "./generator";
import { save } from "./save";
import type { Scene } from "./scene";

/** The page around the dialog. */
export interface Host {
  readonly generator: Generator;
  readonly scenes: Scene[];
  readonly active: number;
  announce(text: string): void;
}

/** Pixels of a cell that a picture may have. */
const SCALES = [2, 256] as const;

export class ExportPanel {
  readonly #dialog = element<HTMLDialogElement>("export-view");
  readonly #form = element<HTMLFormElement>("export-form");
  #worker?: Worker;

  constructor(readonly host: Host) {
    element("export").addEventListener("click", () => {
      this.#say("");
      this.#dialog.showModal();
    });
    element("export-close").addEventListener("click", () => this.#dialog.close());
    this.#form.addEventListener("change", () => this.#enable());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#export().catch((error: Error) => this.#say(error.message));
    });
    this.#enable();
  }

  #say(text: string): void {
    element("export-problem").textContent = text;
  }

  #value = (name: string): string => String(new FormData(this.#form).get(name) ?? "");

  /** The tiles of editors have one look, and what is for tabletops is for players. */
  #enable(): void {
    const format = this.#value("format");
    const isTile = format === "tiled" || format === "ldtk" || format === "json";
    const enable = (name: string, isEnabled: boolean): void => {
      (this.#form.elements.namedItem(name) as HTMLInputElement).disabled = !isEnabled;
    };
    enable("style", !isTile);
    enable("scale", !isTile);
  }

  async #export(): Promise<void> {
    const { floor } = this.host.scenes[this.host.active];
    const scale = this.#value("scale").trim() || "0";
    const [least, most] = SCALES;
    const isFine = /^\d+$/.test(scale) && (scale === "0" || (Number(scale) >= least && Number(scale) <= most));
    if (!isFine) throw new Error(`A cell has ${least} to ${most} pixels, and not ${scale}.`);
    const { generator } = this.host;
    const bytes = this.#value("players") ? generator.floor(floor.spec, View.Player) : floor.bytes;
    const settings = [this.#value("format"), this.#value("style") || "data", scale, generator.look(floor.theme).words].join(" ");
    this.#say("Exporting …");
    const exported = await this.#run({ floor: bytes, settings });
    if ("error" in exported) throw new Error(exported.error);
    save(exported.name, new Blob([exported.content]));
    this.#dialog.close();
    this.host.announce(`Saved as ${exported.name}.`);
  }

  #run(wanted: Wanted): Promise<Exported> {
    const worker = (this.#worker ??= new Worker("export-worker.js", { type: "module" }));
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Exported>) => resolve(data);
      worker.onerror = ({ message }) => {
        // The next export begins with a new one.
        this.#worker = undefined;
        reject(new Error(message || "The part of the viewer that exports did not load."));
      };
      worker.postMessage(wanted);
    });
  }
}
