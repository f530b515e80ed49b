// Compares the bytes of the page's generator with those of the server behind the page.

import { decode, type Floor, KINDS } from "./floor";

export type Comparison =
  | { kind: "same" }
  | { kind: "version"; server: number }
  | { kind: "different"; at: number }
  | { kind: "unknown"; why: string };

/** Asks the server that serves this page for the floor. */
export async function compare(floor: Floor, signal: AbortSignal): Promise<Comparison> {
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
export function say(floor: Floor, found: Comparison): { text: string; tone: "good" | "bad" | "plain" } {
  switch (found.kind) {
    case "same":
      return { text: `Same bytes as the server (generator version ${floor.version}).`, tone: "good" };
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
