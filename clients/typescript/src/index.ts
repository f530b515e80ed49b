/**
 * Client of the floor server for browsers: gRPC-Web or Connect over fetch. `@floorserver/client/node` speaks gRPC.
 *
 * @module
 */
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { FloorClient } from "./client.js";
import { cacheable } from "./get.js";
import { type ClientOptions, prepare } from "./options.js";

export { FloorClient, type FloorCall } from "./client.js";
export {
  type ClimbFloor,
  type ClimbInit,
  InvalidReceiptError,
  receiptFromJson,
  receiptToJson,
  verifyReceipt,
} from "./climb.js";
export { type Cell, Floor, decodeFloor, encodedFloor } from "./floor.js";
export { MAX_SIDE, decodeGrid } from "./grid.js";
export { type ErrorClass, InvalidFloorError } from "./invalid.js";
export type { CallOptions, ClientOptions } from "./options.js";
export type { Match, SearchOptions } from "./search.js";
export { seed } from "./seed.js";
export type { SpecInit } from "./spec.js";
export { type Violation, retryAfterMs, violations } from "./status.js";
export type { Served } from "./served.js";
export * as v1 from "./gen/floors/v1/floors_pb.js";

/** Options of {@link connect} in browsers. */
export interface BrowserOptions extends ClientOptions {
  /** The protocol; `grpc-web` unless given. */
  protocol?: "grpc-web" | "connect";
  /**
   * Makes calls other than streams by GET, so that browsers and HTTP caches can answer them. Needs the protocol
   * `connect`. An answer to a call with `generatorVersion` may be kept for a year, since it is then a part of the URL.
   */
  get?: boolean;
  /** Replaces `fetch`, as for credentials of your own. */
  fetch?: typeof globalThis.fetch;
}

/**
 * A client of the server at a URL such as `https://floors.example`. The first call connects.
 *
 * @throws TypeError if the URL or an option cannot be used.
 */
export function connect(url: string, options: BrowserOptions = {}): FloorClient {
  if (options.get && options.protocol !== "connect") {
    throw new TypeError('get needs the protocol "connect": gRPC-Web has no GET');
  }
  const fetch = options.fetch ?? globalThis.fetch;
  const transport = { ...prepare(url, options), useBinaryFormat: true };
  if (options.protocol !== "connect") return new FloorClient(createGrpcWebTransport({ ...transport, fetch }), options);
  const create = { ...transport, useHttpGet: options.get ?? false, fetch: options.get ? cacheable(fetch) : fetch };
  return new FloorClient(createConnectTransport(create), options);
}
