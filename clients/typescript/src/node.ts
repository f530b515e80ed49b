/**
 * Client of the floor server for Node: gRPC, gRPC-Web or Connect over HTTP/2.
 *
 * @module
 */
import type { SecureClientSessionOptions } from "node:http2";

import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

import { FloorClient } from "./client.js";
import { type ClientOptions, prepare } from "./options.js";

/** The greatest answer that is read, in bytes. A full batch takes less. */
const MAX_MESSAGE = 16 * 1024 * 1024;
/** A connection with open calls that is silent for this long is tested, and closed if it does not answer in time. */
const PING_AFTER_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;

/** Options of {@link connect} in Node. */
export interface NodeOptions extends ClientOptions {
  /** The protocol; `grpc` unless given. */
  protocol?: "grpc" | "grpc-web" | "connect";
  /** Certificates of an https server: `ca` for an authority of your own, `cert` and `key` for a client certificate. */
  tls?: Pick<SecureClientSessionOptions, "ca" | "cert" | "key" | "passphrase" | "servername">;
}

/**
 * A client of the server at a URL such as `http://127.0.0.1:50051`. All calls share one connection, which the first call
 * opens and which does not keep the process alive.
 *
 * @throws TypeError if the URL or an option cannot be used.
 */
export function connect(url: string, options: NodeOptions = {}): FloorClient {
  const transport = {
    ...prepare(url, options),
    httpVersion: "2" as const,
    nodeOptions: options.tls ?? {},
    // The server compresses nothing, so a compressed answer is not its own.
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE,
    pingIntervalMs: PING_AFTER_MS,
    pingTimeoutMs: PING_TIMEOUT_MS,
  };
  switch (options.protocol ?? "grpc") {
    case "grpc":
      return new FloorClient(createGrpcTransport(transport), options);
    case "grpc-web":
      return new FloorClient(createGrpcWebTransport(transport), options);
    case "connect":
      return new FloorClient(createConnectTransport({ ...transport, useBinaryFormat: true }), options);
  }
}
