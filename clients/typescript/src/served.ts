/** How the server answered a call. */

/** How the server answered a call. */
export interface Served {
  /** The tier, or `generated`; for a batch counts, as in `lru=3,generated=8`. Empty if the server does not say. */
  by: string;
  /** How many floors came from another call for the same floor. */
  coalesced: number;
  /** Microseconds inside the server, if the call had `trace`. */
  serverUs?: number;
  /** What each tier answered and cost, if the call had `trace`. */
  trace?: string;
}

/** Reads metadata. Ignores malformed values, since they only describe the answer. */
export function servedFrom(headers: Headers): Served {
  const number = (name: string) => {
    const text = headers.get(name) ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  const serverUs = number("floor-server-us");
  const trace = headers.get("floor-trace");
  return {
    by: headers.get("floor-served-by") ?? "",
    coalesced: number("floor-coalesced") ?? 0,
    ...(serverUs !== undefined && { serverUs }),
    ...(trace !== null && { trace }),
  };
}
