/** Whether and when a failed call is repeated. */
import { Code, ConnectError } from "@connectrpc/connect";

import { retryAfterMs } from "./status.js";

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;
/** The longest wait that a server may ask for. With a longer one the call fails, and `retryAfterMs` has it. */
const MAX_WAIT_MS = 60_000;

/** Whether a later attempt may succeed: the server refuses the call for now, or cannot be reached. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  switch (error.code) {
    case Code.Unavailable:
    case Code.ResourceExhausted:
      return true;
    case Code.Unknown:
      // fetch reports a connection that fails as a TypeError.
      return error.cause instanceof TypeError;
    default:
      return false;
  }
}

/** The wait before the next attempt, `undefined` if it is too long. */
export function backoffMs(error: unknown, attempt: number): number | undefined {
  const asked = retryAfterMs(error);
  if (asked !== undefined) return asked <= MAX_WAIT_MS ? asked : undefined;
  const backoff = Math.min(MIN_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS);
  return (backoff * (1 + Math.random())) / 2;
}

/** Waits, or throws the reason of the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(ConnectError.from(signal?.reason, Code.Canceled));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
