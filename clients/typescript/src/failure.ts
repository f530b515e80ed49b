/** Why a connection failed. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

const UNKNOWN_AUTHORITY =
  "the certificate of the server is of an authority that is not trusted: name it in tls.ca, or in NODE_EXTRA_CA_CERTS for fetch";
const NO_TLS = "the server does not speak TLS: write http:// instead of https://";
const ONLY_TLS = "the server speaks TLS: write https:// instead of http://";
/** By the codes of Node's errors. Browsers do not say why a connection failed. */
const TLS_REASONS: Record<string, string> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: "the certificate of the server has expired",
  CERT_NOT_YET_VALID: "the certificate of the server is not yet valid",
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  HPE_INVALID_CONSTANT: ONLY_TLS,
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate of the server is for another name",
};

/** Names the mistake in failures of the connection. */
export const explained: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    throw withReason(error, new URL(request.url));
  }
};

/** Whether nothing listened at the address. Only Node says so. */
export function isRefused(error: unknown): boolean {
  return codes(error).includes("ECONNREFUSED");
}

/** Whether a certificate is not trusted, or only one side speaks TLS. No retry helps. */
export function isTlsMistake(error: unknown): boolean {
  return tlsReason(error) !== undefined;
}

/** Whether it comes from Node's sockets or HTTP/2. */
export function isNodeError(error: ConnectError): boolean {
  return codes(error.cause).length > 0;
}

function withReason(error: unknown, { protocol, host }: URL): unknown {
  const unavailable = (reason: string) => new ConnectError(`${host}: ${reason}`, Code.Unavailable, undefined, undefined, error);
  const reason = tlsReason(error);
  if (reason) return unavailable(`${reason} (${firstCause(error)})`);
  // Node does not pass on what the other side sent.
  if (protocol === "http:" && error instanceof ConnectError && /error code CANCEL/.test(error.message)) {
    return unavailable("the server ended the connection without an answer: it closes, or it speaks TLS (then write https://)");
  }
  // fetch says why only in the cause.
  if (error instanceof TypeError) return unavailable(firstCause(error));
  return error;
}

function tlsReason(error: unknown): string | undefined {
  const code = codes(error).find((code) => code in TLS_REASONS);
  return code && TLS_REASONS[code];
}

/** The codes that Node gives to an error and its causes. */
function codes(error: unknown): string[] {
  const found: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ("code" in at && typeof at.code === "string") found.push(at.code);
  }
  return found;
}

function firstCause(error: unknown): string {
  return error instanceof Error && error.cause ? firstCause(error.cause) : String((error as Error).message).trim();
}
