// The tower of the day, floor by floor: the server plays the acts of each floor again, and reveals the next.

import { Climb, End } from "./climb";
import { base64, getDaily, reveal, type Revealed, startClimb, submitFloor } from "./climb-calls";
import { several } from "./describe";
import { element } from "./element";
import { announce, showAlert } from "./notices";
import { save } from "./save";
import type { Walker } from "./walk";
import { load } from "./wasm";

/** The page around the climb. */
export interface Host {
  readonly views: { walk?: Walker; readonly canvas: HTMLCanvasElement }[];
  climb(climb: Walker): void;
  toggleWalk(): void;
}

/** Where the browser keeps the floor that was revealed last, in base64, and the acts on it. */
const [FLOOR, ACTS] = ["climb-floor", "climb-acts"];

export class Daily {
  readonly #dialog = element<HTMLDialogElement>("receipt-view");
  #module?: WebAssembly.Module;
  #climb?: Climb;
  #revealed?: Revealed;
  /** What the first button of the dialog does. */
  #next = (): void => {};
  #isSending = false;

  constructor(readonly host: Host) {
    element("daily").addEventListener("click", () => (this.#isShown ? host.toggleWalk() : this.open()));
    element("receipt-next").addEventListener("click", () => {
      this.#dialog.close();
      this.#next();
    });
    element("receipt-save").addEventListener("click", () => this.#save());
    element("receipt-anew").addEventListener("click", () => {
      this.#dialog.close();
      this.#try(() => this.#start());
    });
    this.#dialog.addEventListener("close", () => host.views[0].canvas.focus());
  }

  /** Goes on with the climb that the browser kept, if it is of today, or begins one. */
  open(): void {
    this.#try(async () => {
      const [tower, module] = await Promise.all([getDaily(), this.#module ?? load("climb.wasm")]);
      this.#module = module;
      const kept = read();
      if (kept?.revealed.receipt.climb.tower === tower) await this.#enter(kept.revealed, kept.acts);
      else await this.#start(tower);
    });
  }

  get #isShown(): boolean {
    return this.#climb !== undefined && this.host.views[0].walk === this.#climb;
  }

  #try(run: () => Promise<void>): void {
    run().catch((error: Error) => showAlert(`The tower of the day: ${error.message}.`));
  }

  async #start(tower?: string): Promise<void> {
    await this.#enter(await startClimb(tower ?? await getDaily()));
  }

  async #enter(revealed: Revealed, acts = ""): Promise<void> {
    this.#climb = await Climb.begin(this.#module as WebAssembly.Module, revealed, acts, () => this.#changed());
    this.#revealed = revealed;
    keep(FLOOR, base64(revealed.message));
    this.host.climb(this.#climb);
    this.#changed();
  }

  #changed(): void {
    const climb = this.#climb as Climb;
    keep(ACTS, climb.acts);
    for (const [at, [move, ware]] of [["p", "Potion"], ["b", "Blade"], ["m", "Mail"]].entries()) {
      const button = document.querySelector(`[data-move=${move}]`) as HTMLButtonElement;
      button.hidden = !climb.prices[at];
      button.textContent = `${ware} ${climb.prices[at]}`;
    }
    if (climb.end === End.Stairs) void this.#submit(climb);
    if (climb.end === End.Death) {
      const { number } = climb.scene.floor.spec;
      const proof = number > 1 ? " Your last receipt, verified by the server:" : "";
      this.#show(`You died on floor ${number}`, `The climb ends after ${several(climb.turns, "turn")}.${proof}`);
    }
  }

  /** Sends the acts. They are kept until the server has accepted them. */
  async #submit(climb: Climb): Promise<void> {
    const { receipt } = this.#revealed as Revealed;
    if (this.#isSending) return;
    this.#isSending = true;
    announce("The server plays your acts again …");
    const { number } = climb.scene.floor.spec;
    try {
      const next = await submitFloor(receipt, climb.log);
      [keep(FLOOR, base64(next.message)), keep(ACTS, "")];
      if (!this.#isShown) return;
      this.#revealed = next;
      this.#show(`Floor ${number} is climbed`, "Verified by the server.", "Go on");
      // However the dialog is closed.
      this.#dialog.addEventListener("close", () => this.#try(() => this.#enter(next)), { once: true });
    } catch (error) {
      if (!this.#isShown) return;
      const words = `${(error as Error).message}. Your acts are kept.`;
      this.#show(`Floor ${number} is not verified`, words, "Send again", () => void this.#submit(climb));
    } finally {
      this.#isSending = false;
    }
  }

  /** Shows the last receipt with what has come of the floor, and the button that goes on, if one does. */
  #show(title: string, words: string, button?: string, next = (): void => {}): void {
    const { climb: { tower, floor, turns, started, reached } } = (this.#revealed as Revealed).receipt;
    element("receipt-title").textContent = title;
    element("receipt-words").textContent = words;
    const time = duration(reached - started);
    const facts = [["Tower", tower], ["Reached floor", String(floor)], ["Turns", String(turns)], ["Time", time]];
    element("receipt-facts").replaceChildren(...facts.flatMap(([name, value]) => [
      Object.assign(document.createElement("dt"), { textContent: name }),
      Object.assign(document.createElement("dd"), { textContent: value }),
    ]));
    // Before the first floor is climbed there is nothing to prove.
    const isProof = floor > 1;
    element("receipt-facts").hidden = element("receipt-save").hidden = !isProof;
    element("receipt-next").textContent = button ?? "";
    element("receipt-next").hidden = !button;
    element("receipt-anew").hidden = button === "Go on";
    this.#next = next;
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  /** As `floorctl receipt verify` reads it. */
  #save(): void {
    const { climb: { tower, floor, started }, json } = (this.#revealed as Revealed).receipt;
    const name = `climb-${tower}-${started}-${floor}.json`;
    save(name, new Blob([`${json}\n`], { type: "application/json" }));
    announce(`Saved as ${name}.`);
  }
}

/** `7:05`, `1:02:03`. */
function duration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const two = (number: number): string => String(number % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // The climb goes on, and a reload begins it anew.
  }
}

/** What the browser kept; undefined if that is nothing, or no floor. */
function read(): { revealed: Revealed; acts: string } | undefined {
  try {
    const message = Uint8Array.from(atob(localStorage.getItem(FLOOR) ?? ""), (char) => char.charCodeAt(0));
    return { revealed: reveal(message), acts: localStorage.getItem(ACTS) ?? "" };
  } catch {
    return undefined;
  }
}
