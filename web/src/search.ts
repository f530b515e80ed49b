// A search for floors that meet a condition, in as many workers as there are cores. Matches come in the order of the
// floors, whichever worker finds them first, so that the same search always lists the same floors.

import type { Generator, Space } from "./generator";
import type { Begin, Done, Part } from "./search-worker";

export interface Match { seed: bigint; number: number; kind: string; facts: string[] }
export interface Progress { looked: bigint; total: bigint; generated: number; failed: number; perSecond: number; ended: boolean }

/** How long a part should take, in milliseconds: short enough for a prompt end, long enough to keep workers busy. */
const PART_MS = 120;
const FIRST_PART = 16;
const MAX_PART = 200_000;
const MAX_WORKERS = 16;
/** How long no worker answers before a search is given up, in milliseconds: a pack's own generator may have no end. */
const STALL = 60_000;

export class Search {
  #workers: Worker[] = [];
  #next = 0n;
  #size = FIRST_PART;
  #waiting = new Map<bigint, Done>();
  #looked = 0n;
  #emitted = 0n;
  #found = 0;
  #generated = 0;
  #failed = 0;
  #stall = 0;
  #started = performance.now();

  constructor(
    { module, pack }: Generator, condition: string, readonly space: Space, readonly total: bigint,
    readonly limit: number, readonly onMatch: (match: Match) => void, readonly onProgress: (progress: Progress) => void,
    readonly onError: (message: string) => void,
  ) {
    const count = Math.min(navigator.hardwareConcurrency || 2, MAX_WORKERS);
    for (let at = 0; at < count; at++) {
      const worker = new Worker("search-worker.js", { type: "module" });
      worker.onmessage = ({ data }: MessageEvent<Done>) => this.#done(worker, data);
      worker.onerror = (event) => {
        this.stop();
        onError(event.message || "a worker could not start");
      };
      worker.postMessage({ module, pack, condition, space } satisfies Begin);
      this.#workers.push(worker);
      this.#give(worker);
    }
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#stall);
    this.#stall = window.setTimeout(() => {
      this.stop();
      this.onError(`its floors take too long: no answer for ${STALL / 1000} s`);
    }, STALL);
  }

  /** Ends the search. */
  stop(): void {
    clearTimeout(this.#stall);
    this.#workers.forEach((worker) => worker.terminate());
    this.#workers = [];
  }

  #give(worker: Worker): void {
    if (this.#next >= this.total) return;
    const left = this.total - this.#next;
    const count = left < BigInt(this.#size) ? Number(left) : this.#size;
    worker.postMessage({ first: this.#next, count } satisfies Part);
    this.#next += BigInt(count);
  }

  #done(worker: Worker, part: Done): void {
    this.#watch();
    const wanted = Math.round((part.count * PART_MS) / Math.max(part.ms, 1));
    this.#size = Math.min(Math.max(wanted, FIRST_PART), this.#size * 4, MAX_PART);
    this.#looked += BigInt(part.count);
    this.#generated += part.generated;
    this.#failed += part.failed;
    this.#waiting.set(part.first, part);
    this.#emit();
    const ended = this.#emitted >= this.total || this.#found >= this.limit;
    if (ended) this.stop();
    else this.#give(worker);
    const seconds = (performance.now() - this.#started) / 1000;
    this.onProgress({
      looked: this.#looked, total: this.total, generated: this.#generated, failed: this.#failed,
      perSecond: Number(this.#looked) / seconds, ended,
    });
  }

  /** Passes on the matches of all parts up to the first that is still looked at. */
  #emit(): void {
    for (let part; (part = this.#waiting.get(this.#emitted));) {
      this.#waiting.delete(this.#emitted);
      this.#emitted += BigInt(part.count);
      for (const line of part.matches) {
        if (this.#found >= this.limit) return;
        this.#found++;
        const [seed, number, kind, ...facts] = line.split("\t");
        this.onMatch({ seed: BigInt(seed), number: Number(number), kind, facts });
      }
    }
  }
}
