/**
 * Client of the floor server for browsers: gRPC-Web or Connect over fetch. `@floorserver/client/node` speaks gRPC.
 *
 * @module
 */
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { FloorClient } from "./client.js";
import { type ClientOptions, prepare } from "./options.js";

export { FloorClient, type FloorCall, type SpecInit } from "./client.js";
export { Floor, decodeFloor, encodedFloor } from "./floor.js";
export { MAX_SIDE, decodeGrid } from "./grid.js";
export { type ErrorClass, InvalidFloorError } from "./invalid.js";
export type { CallOptions, ClientOptions } from "./options.js";
export { type Violation, retryAfterMs, violations } from "./status.js";
export type { Served } from "./served.js";
export * as v1 from "./gen/floors/v1/floors_pb.js";

/** Options of {@link connect} in browsers. */
export interface BrowserOptions extends ClientOptions {
  /** The protocol; `grpc-web` unless given. */
  protocol?: "grpc-web" | "connect";
  /** Replaces `fetch`, as for credentials of your own. */
  fetch?: typeof globalThis.fetch;
}

/**
 * A client of the server at a URL such as `https://floors.example`. The first call connects.
 *
 * @throws TypeError if the URL or an option cannot be used.
 */
export function connect(url: string, options: BrowserOptions = {}): FloorClient {
  const transport = { ...prepare(url, options), ...(options.fetch && { fetch: options.fetch }) };
  const create = options.protocol === "connect" ? createConnectTransport : createGrpcWebTransport;
  return new FloorClient(create({ ...transport, useBinaryFormat: true }), options);
}
