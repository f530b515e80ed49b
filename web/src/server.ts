// Compares the bytes of the page's generator with those of the server behind the page.

import { decode, type Floor, KINDS } from "./floor";
import type { Scene } from "./scene";

type Result =
  | { kind: "same" }
  | { kind: "version"; server: number }
  | { kind: "different"; at: number }
  | { kind: "unknown"; why: string };

/** Wait before asking the server about a floor, in milliseconds, so that paging through floors does not ask for each. */
const COMPARE_AFTER = 150;

/** Says below the facts of a floor whether the server has the same. */
export class Comparison {
  #scene?: Scene;
  #asked?: AbortController;

  /** `pack` is the name of the open pack. */
  of(scene: Scene, pack?: string): void {
    if (scene === this.#scene) return;
    this.#scene = scene;
    this.#asked?.abort();
    const { signal } = (this.#asked = new AbortController());
    if (scene.floor.tower !== undefined) return this.#tell("A floor of a sealed tower: only its server can generate it.");
    if (pack !== undefined) return this.#tell(`A floor of the pack ${pack}. Not compared: the pack is in this browser only.`);
    this.#tell("Comparing with the server …");
    setTimeout(() => void this.#ask(scene, signal), COMPARE_AFTER);
  }

  async #ask({ floor }: Scene, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      const { text, tone } = say(floor, await compare(floor, signal));
      this.#tell(text, tone);
    } catch {
      // Another floor is shown by now.
    }
  }

  #tell(text: string, tone = "plain"): void {
    const status = document.getElementById("server") as HTMLElement;
    status.dataset.tone = tone;
    status.textContent = text;
  }
}

/** Asks the server that serves this page for the floor. */
async function compare(floor: Floor, signal: AbortSignal): Promise<Result> {
  const { seed, number, width, height, kind } = floor.spec;
  const query = `seed=${seed}&number=${number}&width=${width}&height=${height}&kind=${KINDS[kind]}`;
  let response: Response;
  try {
    response = await fetch(`floor?${query}`, { signal, cache: "no-store" });
  } catch (error) {
    if (signal.aborted) throw error;
    return { kind: "unknown", why: "the server cannot be reached" };
  }
  if (response.status === 404 || response.headers.get("content-type") !== "application/x-protobuf") {
    const why = response.ok || response.status === 404 ? "no floor server serves this page" : await reason(response);
    return { kind: "unknown", why };
  }
  if (!response.ok) return { kind: "unknown", why: await reason(response) };
  const theirs = new Uint8Array(await response.arrayBuffer());
  const at = firstDifference(floor.bytes, theirs);
  if (at === undefined) return { kind: "same" };
  try {
    const { version } = decode(theirs);
    if (version !== floor.version) return { kind: "version", server: version };
  } catch {
    // Whatever they are, the bytes differ.
  }
  return { kind: "different", at };
}

async function reason(response: Response): Promise<string> {
  const text = (await response.text()).trim().slice(0, 200);
  return `the server answers ${response.status}${text ? `: ${text}` : ""}`;
}

function firstDifference(ours: Uint8Array, theirs: Uint8Array): number | undefined {
  const end = Math.max(ours.length, theirs.length);
  for (let at = 0; at < end; at++) if (ours[at] !== theirs[at]) return at;
  return undefined;
}

/** The comparison in words, and whether it is good news. */
function say(floor: Floor, found: Result): { text: string; tone: "good" | "bad" | "plain" } {
  switch (found.kind) {
    case "same":
      return { text: `Same bytes as the server (version ${floor.version}).`, tone: "good" };
    case "version":
      return {
        text: `The server's generator has version ${found.server}. This page draws version ${floor.version}, ` +
          "so players of that server see another floor.",
        tone: "bad",
      };
    case "different":
      return {
        text: `The server's bytes differ from byte ${found.at} on, although both have generator version ` +
          `${floor.version}. Please report this floor.`,
        tone: "bad",
      };
    case "unknown":
      return { text: `Drawn by generator version ${floor.version}. Not compared: ${found.why}.`, tone: "plain" };
  }
}
