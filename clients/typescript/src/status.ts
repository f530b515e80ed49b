/** The details of error statuses. */
import { ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** A wrong field of a request. */
export interface Violation {
  /** A path in the request, such as `specs[3].width`. */
  field: string;
  description: string;
}

/** The wrong fields of an `INVALID_ARGUMENT` (google.rpc.BadRequest). */
export function violations(error: unknown): Violation[] {
  if (!(error instanceof ConnectError)) return [];
  const details = error.findDetails(BadRequestSchema);
  return details.flatMap((detail) => detail.fieldViolations.map(({ field, description }) => ({ field, description })));
}

/** How many milliseconds the server asks to wait before a retry (google.rpc.RetryInfo). */
export function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  if (!delay || delay.seconds < 0n || delay.nanos < 0) return undefined;
  return Number(delay.seconds) * 1000 + Math.ceil(delay.nanos / 1e6);
}
