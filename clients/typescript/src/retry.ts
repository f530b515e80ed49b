/** Whether and when a failed call is repeated. The rules are those of docs/protocol.md. */
import { Code, ConnectError } from "@connectrpc/connect";

import { isNodeError, isRefused, isTlsMistake } from "./failure.js";
import { retryAfterMs } from "./status.js";

const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 2_000;
/** A server that restarts is awaited for so long: an attempt that no server accepted is not counted. */
const RESTART_MS = 10_000;
/** The longest wait that a server may ask for. With a longer one the call fails, and `retryAfterMs` has it. */
const MAX_WAIT_MS = 60_000;

/** The attempts of one call. */
export class Retries {
  #failed = 0;
  #waits = 0;
  #awaitedUntil = performance.now() + RESTART_MS;

  /**
   * @param allowed - Attempts after the first.
   * @param deadline - As from `performance.now()`.
   */
  constructor(
    private readonly allowed: number,
    public deadline: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Counts from 0 again: a stream got a floor. */
  progressed(deadline: number): void {
    this.#failed = this.#waits = 0;
    this.#awaitedUntil = performance.now() + RESTART_MS;
    this.deadline = deadline;
  }

  /** Waits until the next attempt, or throws the error if there is none. */
  async waitAfter(error: unknown): Promise<void> {
    if (this.signal?.aborted || this.allowed === 0 || !isTransient(error)) throw error;
    const restarts = isRefused(error) && performance.now() < this.#awaitedUntil;
    if (!restarts && ++this.#failed > this.allowed) throw error;
    const wait = retryAfterMs(error) ?? Math.random() * Math.min(MIN_BACKOFF_MS * 2 ** this.#waits++, MAX_BACKOFF_MS);
    if (wait > MAX_WAIT_MS || performance.now() + wait >= this.deadline) throw error;
    await pause(wait, this.signal);
  }
}

/** Whether a later attempt may succeed: the server refuses the call for now, or the connection failed. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof ConnectError) || isTlsMistake(error)) return false;
  switch (error.code) {
    case Code.Unavailable:
    // Canceled by the server or by the connection: the caller's own signal is asked before.
    case Code.Canceled:
    case Code.Aborted:
    // Of this attempt: whether the call has time left is asked afterwards.
    case Code.DeadlineExceeded:
      return true;
    case Code.ResourceExhausted:
      return retryAfterMs(error) !== undefined;
    case Code.Internal:
    case Code.Unknown:
      // fetch reports a connection that fails as a TypeError.
      return isNodeError(error) || error.cause instanceof TypeError;
    default:
      return false;
  }
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
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
