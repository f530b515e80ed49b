/** The options of clients and calls. */
import type { Interceptor } from "@connectrpc/connect";

import { explained } from "./failure.js";
import { shown } from "./shown.js";

/** Options of a client. */
export interface ClientOptions {
  /**
   * Sent as `authorization: Bearer TOKEN` with every call. Refused for a server on another machine without TLS, unless
   * `tokenOverPlainHttp` is set.
   */
  token?: string;
  /** Allows the token on connections that are not encrypted, as behind a proxy that adds TLS. */
  tokenOverPlainHttp?: boolean;
  /** How often a call is repeated that the server refuses for now, or whose connection fails; 4 unless given. */
  retries?: number;
  /**
   * Limits each call with its retries and their waits, and in a stream the time in which no floor arrives; 10,000 unless
   * given, 0 = no limit.
   */
  timeoutMs?: number;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal;
  /** Replaces the client's limit. For a stream it covers the whole stream. */
  timeoutMs?: number;
  /** Has the server generate the floor again. By default servers allow that to callers on their own machine only. */
  noCache?: boolean;
  /** Asks for the result and the time of each tier, in `Served`. */
  trace?: boolean;
  /**
   * Accepts floors of this generator version only, for games whose towers must not change: store what `serverInfo` returned
   * when a tower was made, and send it with every call for the tower. A balancer can route by it. A server of another
   * version answers with `Code.FailedPrecondition`, whose message has both versions; no retry helps.
   */
  generatorVersion?: number;
}

/** @throws TypeError for a number that limits nothing as it was meant, such as NaN. */
export function checkLimits(options: Pick<ClientOptions, "retries" | "timeoutMs">): void {
  for (const name of ["retries", "timeoutMs"] as const) {
    const value = options[name];
    if (value !== undefined && !(typeof value === "number" && value >= 0)) {
      throw new TypeError(`${name} is ${shown(value)}: write a number from 0`);
    }
  }
}

/** Checks the URL and the token. Returns what all transports need. */
export function prepare(url: string, options: ClientOptions): { baseUrl: string; interceptors: Interceptor[] } {
  const base = parse(url);
  const { token } = options;
  if (token === undefined) return { baseUrl: base.href.replace(/\/$/, ""), interceptors: [explained] };
  if (!/^[!-~]+$/.test(token)) {
    throw new TypeError("the token is empty or has a character that a header cannot carry, such as a line break");
  }
  if (base.protocol === "http:" && !options.tokenOverPlainHttp && !isLoopback(base.hostname)) {
    throw new TypeError(`a token is sent to ${base.host} by https only; tokenOverPlainHttp allows http`);
  }
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return { baseUrl: base.href.replace(/\/$/, ""), interceptors: [explained, authorize] };
}

function parse(url: string): URL {
  let base: URL;
  try {
    base = new URL(url);
  } catch {
    // What cannot be parsed may hold a password.
    throw new TypeError("the address is no server address: write http://host:port or https://host:port");
  }
  if (base.protocol !== "http:" && base.protocol !== "https:") {
    throw new TypeError("the scheme of the address is not http or https: write http://host:port");
  }
  if (url.includes("@") || base.search || base.hash) {
    throw new TypeError("the address may not have a user, a query or a fragment: write http://host:port");
  }
  return base;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
