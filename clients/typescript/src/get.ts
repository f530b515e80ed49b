/** Calls by GET, whose answers caches keep. */

const VERSION = "floor-generator-version";

/**
 * A `fetch` that moves the generator version of a GET into its URL, because caches do not compare headers, and leaves out
 * the server's copy of the timeout: a browser asks no preflight for a GET without headers of its own.
 */
export function cacheable(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return (input, init) => {
    if (init?.method !== "GET") return fetch(input, init);
    const headers = new Headers(init.headers);
    const version = headers.get(VERSION);
    headers.delete(VERSION);
    headers.delete("connect-timeout-ms");
    const url = version === null ? String(input) : `${String(input)}&generator_version=${version}`;
    return fetch(url, { ...init, headers });
  };
}
