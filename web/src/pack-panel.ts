// The panel of the open pack: opens it from files, has its worker read it after each change, shows its floors, saves it.
// Nothing of it leaves the browser.

import { several } from "./describe";
import type { Generator, PackError, PackInfo, Spec } from "./generator";
import { parseNumber } from "./link";
import { parseSeed } from "./seed";
import { PackEditor } from "./pack-editor";
import {
  canWrite, chooseDirectory, chosenSources, droppedSources, type Files, readPackFile, readSources, writeDirectory,
} from "./pack-files";
import type { Reply, Request, Start } from "./pack-worker";
import type { Mode } from "./palette";
import { save } from "./save";
import { Sheet } from "./sheet";
import { load } from "./wasm";

const element = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

/** From the last key to the reading of the pack, in milliseconds. */
const DEBOUNCE = 60;
/** A pack's own generator. */
const GENERATOR = "generator.wasm";
/** The worker is ended if it tells nothing for so long, in milliseconds. */
const STALL = 15_000;

/** Screen readers read a text again whenever it is set. */
function say(id: string, text: string): void {
  if (element(id).textContent !== text) element(id).textContent = text;
}

/** The page around the panel. */
export interface Host {
  readonly generator: Generator;
  readonly specs: Spec[];
  readonly mode: Mode;
  open(spec: Spec): boolean;
  replace(at: number, bytes: Uint8Array<ArrayBuffer>): void;
  reload(): void;
  announce(text: string): void;
}

export class PackPanel {
  readonly #editor: PackEditor;
  readonly #sheet: Sheet;
  #worker?: Worker;
  /** The id of the last request, its tiles, and the files of requests that are not read yet. */
  #id = 0;
  #tiles: Spec[] = [];
  #sent = new Map<number, Files>();
  /** What the last version without errors says. */
  #info?: PackInfo;
  #errors = 0;
  #isOpen = false;
  #isChanged = false;
  #showsSheet = false;
  #runsModules = false;
  /** The directory to save into, and the files that it has. */
  #directory?: FileSystemDirectoryHandle;
  #written: Files = new Map();
  #timer = 0;
  #stall = 0;

  readonly generator: Generator;

  constructor(readonly host: Host) {
    this.generator = host.generator;
    this.#editor = new PackEditor(() => this.#edited(), (text) => host.announce(text));
    this.#sheet = new Sheet({ seed: parseSeed, number: parseNumber }, (spec) => this.#openFloor(spec), () => this.redraw());
    element("pack-write").hidden = !canWrite;
    this.#listen();
  }

  /** The name of the pack whose floors are shown; undefined: the built-in one. */
  get name(): string | undefined {
    return this.generator.pack ? this.#info?.name : undefined;
  }

  #listen(): void {
    const click = (id: string, action: () => unknown): void => element(id).addEventListener("click", action);
    click("pack", () => this.#show(element("pack-panel").hidden !== false));
    click("pack-directory", () => element("pack-directory-input").click());
    click("pack-file", () => element("pack-file-input").click());
    click("pack-tower", () => this.#try("the built-in pack", async () => this.#open(this.generator.towerFiles())));
    click("pack-save", () => this.#try("saving", () => this.#save()));
    click("pack-write", () => this.#try("saving", () => this.#write()));
    click("pack-sheet", () => this.showSheet(!this.#showsSheet));
    click("pack-close", () => this.#close());
    const chosen = (id: string, open: (files: FileList) => Promise<void>): void => {
      element(id).addEventListener("change", async () => {
        const { files } = element(id);
        if (files?.length) await this.#try(files[0].webkitRelativePath.split("/")[0] || files[0].name, () => open(files));
        // The same files can be chosen again.
        element(id).value = "";
      });
    };
    chosen("pack-directory-input", async (files) => this.#open(await readSources(chosenSources(files), this.generator.packLimits)));
    chosen("pack-file-input", ([file]) => this.#openFile(file));
    this.#listenToDrops();
    element("pack-panel").addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || !this.#isOpen) return;
      event.preventDefault();
      void this.#try("saving", () => (this.#directory ? this.#write() : this.#save()));
    });
    window.addEventListener("beforeunload", (event) => {
      if (this.#isChanged) event.preventDefault();
    });
  }

  #listenToDrops(): void {
    const mark = (on: boolean) => document.body.classList.toggle("dropping", on);
    window.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      mark(true);
    });
    window.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
    window.addEventListener("drop", (event) => {
      mark(false);
      const item = [...(event.dataTransfer?.items ?? [])].find(({ kind }) => kind === "file");
      if (!item) return;
      event.preventDefault();
      // Both have to be asked for before the event ends.
      const entry = item.webkitGetAsEntry();
      const handle = (item as unknown as { getAsFileSystemHandle?(): Promise<FileSystemHandle | null> }).getAsFileSystemHandle?.();
      const file = item.getAsFile();
      void this.#try(entry?.name ?? file?.name ?? "the file", async () => {
        if (!entry?.isDirectory) return file ? this.#openFile(file) : undefined;
        const limits = this.generator.packLimits;
        const files = await readSources(await droppedSources(entry as FileSystemDirectoryEntry, limits), limits);
        await this.#open(files, (await handle?.catch(() => undefined)) as FileSystemDirectoryHandle | undefined);
      });
    });
  }

  async #try(what: string, run: () => Promise<void>): Promise<void> {
    this.#show(true);
    this.#problem("");
    try {
      await run();
    } catch (error) {
      // A dialog that the user closes.
      if ((error as Error).name !== "AbortError") this.#problem(`${what}: ${(error as Error).message}.`);
    }
  }

  #problem(text: string): void {
    element("pack-problem").textContent = text;
  }

  #show(isShown: boolean): void {
    element("pack-panel").hidden = !isShown;
    element("pack").setAttribute("aria-expanded", String(isShown));
    document.querySelector("main")?.classList.toggle("packing", isShown);
    if (!isShown) this.showSheet(false);
  }

  // Opening and closing.

  async #openFile(file: File): Promise<void> {
    await this.#open(this.generator.filesOf(await readPackFile(file, this.generator.packLimits)));
  }

  async #open(files: Files, directory?: FileSystemDirectoryHandle): Promise<void> {
    if (!this.#mayForget()) return;
    if (files.has(GENERATOR)) await this.#loadModules();
    this.#end();
    this.#isOpen = true;
    this.#directory = directory;
    this.#written = new Map(files);
    this.#editor.open(files);
    element("pack-content").hidden = false;
    element("pack-hint").hidden = true;
    this.#layOut(true);
    this.#request(true);
    this.#tell();
    element("pack-files").focus();
  }

  /** Loads the module that also runs the generators of packs, with the first pack that has one. */
  async #loadModules(): Promise<void> {
    if (this.#runsModules) return;
    this.generator.use(await load("modules.wasm"));
    this.#runsModules = true;
  }

  #mayForget(): boolean {
    return !this.#isChanged || confirm("The pack has changes that are not saved. Close it without them?");
  }

  #close(): void {
    if (!this.#mayForget()) return;
    this.#end();
    element("pack-content").hidden = true;
    element("pack-hint").hidden = false;
    this.showSheet(false);
    this.host.reload();
    this.host.announce("The pack is closed. The floors are those of the built-in pack.");
    element("pack-directory").focus();
  }

  #end(): void {
    this.#endWorker();
    this.generator.pack = undefined;
    this.#isOpen = this.#isChanged = false;
    this.#info = this.#directory = undefined;
    this.#errors = 0;
    this.#sheet.clear();
    this.#tell();
  }

  // Reading and drawing.

  #edited(): void {
    this.#isChanged = true;
    this.#tell();
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#request(true), DEBOUNCE);
  }

  /** Draws the sheet again. */
  redraw(): void {
    if (this.#isOpen) this.#request(false);
  }

  #request(hasChanged: boolean): void {
    clearTimeout(this.#timer);
    if (!this.#worker) this.#startWorker();
    const id = ++this.#id;
    element("sheet").dataset.asked = String(id);
    // A worker that was started anew has no files yet.
    const files = hasChanged || !this.#sent.size ? new Map(this.#editor.files) : undefined;
    if (files) this.#sent.set(id, files);
    this.#tiles = this.#showsSheet ? this.#sheet.specs() ?? [] : [];
    this.#worker?.postMessage({
      id, files, floors: this.#showsSheet ? [] : this.host.specs, tiles: this.#tiles, side: this.#sheet.side, mode: this.host.mode,
    } satisfies Request);
    this.#watch();
  }

  #startWorker(): void {
    const worker = new Worker("pack-worker.js", { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#answered(data);
    worker.onerror = (event) => {
      this.#endWorker();
      this.#problem(`the pack's worker failed: ${event.message || "it could not start"}.`);
    };
    worker.postMessage({ module: this.generator.module } satisfies Start);
    this.#worker = worker;
  }

  #endWorker(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#stall);
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#sent.clear();
  }

  #watch(): void {
    clearTimeout(this.#stall);
    this.#stall = window.setTimeout(() => {
      this.#endWorker();
      // A generator of its own would stop the page too.
      if (this.generator.pack?.has(GENERATOR)) this.generator.pack = undefined;
      this.#problem(`a floor of this pack took longer than ${STALL / 1000} s and was given up. The next change tries again.`);
    }, STALL);
  }

  #answered(reply: Reply): void {
    this.#watch();
    // Files are read once, so that a newer request does not read them again.
    if ("read" in reply) return this.#read(reply);
    if (reply.id !== this.#id) return;
    if ("floor" in reply) {
      this.host.replace(reply.floor, reply.bytes);
    } else if ("tile" in reply) {
      this.#sheet.show(reply.tile, this.#tiles[reply.tile], reply.spec, reply.pixels);
    } else {
      clearTimeout(this.#stall);
      if ("failed" in reply) this.#problem(`${reply.failed}.`);
      else element("sheet").dataset.shown = String(reply.id);
    }
  }

  #read({ id, read }: { id: number; read: PackInfo | PackError[] }): void {
    const errors = Array.isArray(read) ? read : [];
    if (!Array.isArray(read)) {
      this.#info = read;
      this.generator.pack = this.#sent.get(id);
      this.#problem("");
    }
    for (const older of this.#sent.keys()) if (older < id) this.#sent.delete(older);
    this.#errors = errors.length;
    this.#editor.showErrors(errors);
    this.#tell();
  }

  /** Says what is open. */
  #tell(): void {
    const { files } = this.#editor;
    const info = this.#info;
    const name = info ? `${info.name}, ${this.#errors ? "with errors" : info.hash}` : "no name yet";
    say("pack-state", this.#isOpen ? `${name}, ${several(files.size, "file")}${this.#isChanged ? ", not saved" : ""}` : "");
    const floors = info ? "The floors are those of the last version without errors." : "It has floors when it has no errors.";
    say("pack-count", this.#errors ? `${several(this.#errors, "error")}. ${floors}` : "No errors.");
    element("pack").textContent = this.#isOpen ? `Pack: ${info?.name ?? "?"}` : "Pack";
  }

  #openFloor(spec: Spec): void {
    // The button that has the focus is hidden with the sheet.
    if (this.host.open(spec)) document.querySelector<HTMLElement>(".view.active canvas")?.focus();
  }

  /** Shows the sheet, or the floors in its place. Whether they were not shown before. */
  showSheet(isShown: boolean): boolean {
    const shown = isShown && this.#isOpen;
    if (shown === this.#showsSheet) return false;
    this.#layOut(shown);
    if (shown) this.redraw();
    else if (this.#isOpen) this.host.reload();
    return true;
  }

  #layOut(showsSheet: boolean): void {
    this.#showsSheet = showsSheet;
    element("sheet-view").hidden = !showsSheet;
    element("views").hidden = showsSheet;
    document.querySelector("main")?.classList.toggle("sheet", showsSheet);
    element("pack-sheet").setAttribute("aria-pressed", String(showsSheet));
  }

  // Saving.

  async #save(): Promise<void> {
    save(`${this.#info?.name ?? "pack"}.floorpack`, new Blob([this.generator.packBytes(this.#editor.files)]));
    this.#saved("The .floorpack file is saved.");
  }

  async #write(): Promise<void> {
    // The module normalises text, and refuses what is no pack's file.
    const files = this.generator.filesOf(this.generator.packBytes(this.#editor.files));
    if (!this.#directory) {
      this.#directory = await chooseDirectory();
      this.#written = new Map();
    }
    const written = await writeDirectory(this.#directory, files, this.#written);
    this.#written = files;
    this.#saved(`${several(written, "file")} of ${this.#directory.name} changed.`);
  }

  #saved(text: string): void {
    this.#isChanged = false;
    this.#tell();
    this.host.announce(text);
  }
}
