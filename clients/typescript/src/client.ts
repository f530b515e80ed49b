/** The client of one floor server. */
import { clone } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client, type Transport } from "@connectrpc/connect";

import { type ClimbFloor, type ClimbInit, asClimb, checkClimbFloor, readClimb } from "./climb.js";
import { Floor } from "./floor.js";
import {
  type Daily,
  FloorService,
  type FloorSpec,
  FloorSpecSchema,
  type Pack,
  type PackInfo,
  type Receipt,
  type ServerInfo,
} from "./gen/floors/v1/floors_pb.js";
import { MAX_SIDE } from "./grid.js";
import { hex, verifyPack } from "./hash.js";
import { InvalidFloorError } from "./invalid.js";
import { type CallOptions, type ClientOptions, checkLimits } from "./options.js";
import { Retries } from "./retry.js";
import { type Match, Search, type SearchOptions } from "./search.js";
import { type Served, servedFrom } from "./served.js";
import { type SpecInit, asSpec, asUint32 } from "./spec.js";

/** A floor, and how the server answered. */
export interface FloorCall {
  floor: Floor;
  served: Served;
}

/** The limits of a batch. */
const MAX_BATCH = 256;
const MAX_BATCH_CELLS = 4_194_304;
const DEFAULT_RETRIES = 4;
const DEFAULT_TIMEOUT_MS = 10_000;
/** A timer cannot wait for longer. */
const MAX_TIMER_MS = 2 ** 31;

/** Options of one attempt, for the RPC library. */
interface Attempt {
  headers: Headers;
  signal?: AbortSignal;
  timeoutMs?: number;
  onHeader: (headers: Headers) => void;
}

/** A client of one floor server. Calls may run at the same time. `connect` makes one. */
export class FloorClient {
  readonly #rpc: Client<typeof FloorService>;
  readonly #retries: number;
  readonly #timeoutMs: number;

  constructor(transport: Transport, options: ClientOptions = {}) {
    checkLimits(options);
    this.#rpc = createClient(FloorService, transport);
    this.#retries = options.retries ?? DEFAULT_RETRIES;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /**
   * One floor.
   *
   * @throws ConnectError with the server's status, InvalidFloorError if the answer is not the floor, TypeError for a
   *   spec that names none.
   */
  async get(spec: SpecInit, options: CallOptions = {}): Promise<FloorCall> {
    const asked = asSpec(spec);
    const { value, served } = await this.#unary(options, (attempt) => this.#rpc.getFloor({ spec: asked }, attempt));
    return { floor: await Floor.check(value, asked), served };
  }

  /**
   * Floors in the order of their specs, 1 to 256: all of them or an error. {@link each} takes more.
   *
   * @throws As for {@link get}.
   */
  async batch(specs: readonly SpecInit[], options: CallOptions = {}): Promise<{ floors: Floor[]; served: Served }> {
    const asked = specs.map(asSpec);
    const call = (attempt: Attempt) => this.#rpc.batchGetFloors({ specs: asked }, attempt);
    const { value, served } = await this.#unary(options, call);
    if (value.floors.length !== asked.length) {
      throw new InvalidFloorError("spec", `${value.floors.length} floors for ${asked.length} specs`);
    }
    const floors = await Promise.all(value.floors.map((floor, i) => Floor.check(floor, asked[i] as FloorSpec)));
    return { floors, served };
  }

  /**
   * Floors in the order of their specs, of which there may be any number, in one {@link batch} after the other while
   * the loop reads. A batch has up to 256 floors; 16 of specs that name no size, since that of a pack may be the
   * greatest that there is. The options are those of each batch.
   *
   * @throws As for {@link get}.
   */
  async *each(specs: Iterable<SpecInit>, options: CallOptions = {}): AsyncGenerator<Floor, void, undefined> {
    for (const batch of batched(specs)) yield* (await this.batch(batch, options)).floors;
  }

  /**
   * `count` floors of one tower from `first.number` on. The server sends no faster than the loop reads. A stream that
   * breaks off, or in which no floor arrives in the client's `timeoutMs`, is resumed at the floor that is missing.
   * Leaving the loop ends the call.
   *
   * @throws As for {@link get}.
   */
  async *stream(first: SpecInit, count: number, options: CallOptions = {}): AsyncGenerator<Floor, void, undefined> {
    checkLimits(options);
    const next = asSpec(first);
    let left = asUint32("count", count);
    const deadline = deadlineIn(options.timeoutMs ?? 0);
    const retries = new Retries(this.#retries, Math.min(deadline, deadlineIn(this.#timeoutMs)), options.signal);
    const floorTimeout = () => Math.min(this.#timeoutMs || Infinity, retries.deadline - performance.now());
    for (;;) {
      const ended = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
      try {
        const request = { first: clone(FloorSpecSchema, next), count: left };
        const messages = this.#rpc.streamFloors(request, this.#attempt({ ...options, signal }, deadline));
        for await (const message of punctual(messages, ended, floorTimeout)) {
          if (left === 0) throw new InvalidFloorError("spec", "the stream has more floors than were asked for");
          const floor = await Floor.check(message, next);
          next.number++;
          left--;
          retries.progressed(deadline);
          yield floor;
        }
        if (left > 0) throw new InvalidFloorError("spec", `the stream ended ${left} floors early`);
        return;
      } catch (error) {
        // Only the trailers are lost.
        if (left === 0 && count > 0 && error instanceof ConnectError) return;
        await retries.waitAfter(error);
      } finally {
        ended.abort();
      }
    }
  }

  /**
   * The floors that meet a condition such as `kind == cavern && loops > 4`, among `count` of each tower from
   * `first.number` on. The server searches no further than the loop reads, in calls that each have the options.
   *
   * @throws As for {@link get}.
   */
  async *search(
    first: SpecInit,
    count: number,
    condition: string,
    { seeds, limit, ...options }: SearchOptions & CallOptions = {},
  ): AsyncGenerator<Match, void, undefined> {
    const bounds = { ...(seeds && { seeds }), ...(limit !== undefined && { limit }) };
    const search = new Search(first, count, condition, bounds);
    for (const request of search.requests()) {
      const { value } = await this.#unary(options, (attempt) => this.#rpc.searchFloors(request, attempt));
      yield* search.read(value);
    }
  }

  /**
   * Version, limits and tier statistics of the server.
   *
   * @throws ConnectError with the server's status.
   */
  async serverInfo(options: CallOptions = {}): Promise<ServerInfo> {
    const { value } = await this.#unary(options, (attempt) => this.#rpc.getServerInfo({}, attempt));
    return value;
  }

  /**
   * The packs that the server has, in all versions that it holds.
   *
   * @throws ConnectError with the server's status.
   */
  async packs(options: CallOptions = {}): Promise<PackInfo[]> {
    const { value } = await this.#unary(options, (attempt) => this.#rpc.listPacks({}, attempt));
    return value.packs;
  }

  /**
   * The files of a pack: `NAME`, `NAME@HASH`, or "" for the server's default. Their hash is checked.
   *
   * @throws ConnectError with the server's status, InvalidFloorError if the answer is not the pack.
   */
  async pack(name = "", options: CallOptions = {}): Promise<Pack> {
    const { value } = await this.#unary(options, (attempt) => this.#rpc.getPack({ pack: name }, attempt));
    await verifyPack(value);
    const resolved = `${value.name}@${hex(value.hash)}`;
    if (name !== "" && name !== value.name && name !== resolved) {
      throw new InvalidFloorError("spec", `the server sent the pack ${resolved} instead of ${name}`);
    }
    return value;
  }

  /**
   * Begins a climb of a sealed tower: its first floor, and the receipt that `submitFloor` takes.
   *
   * @param tower - 1 to 64 lowercase letters, digits, `-`, `_` or `.`, such as that of {@link getDaily}.
   * @throws ConnectError with the server's status, InvalidFloorError if the answer is not the floor,
   *   InvalidReceiptError for a receipt that is none, TypeError for a wrong argument.
   */
  async startClimb(tower: string, options: ClimbInit & CallOptions = {}): Promise<ClimbFloor> {
    const request = asClimb(tower, options);
    const { value, served } = await this.#unary(options, (attempt) => this.#rpc.startClimb(request, attempt));
    return checkClimbFloor(value, served, tower, 1);
  }

  /**
   * The next floor of a climb, for acts that lead to the stairs of the floor that came with the receipt. Each is a byte,
   * as `SubmitFloorRequest` lists them, and a floor takes at most 10,000. A receipt may be submitted again.
   *
   * @throws As for {@link startClimb}. `violations` says which act is impossible.
   */
  async submitFloor(receipt: Receipt, acts: Uint8Array, options: CallOptions = {}): Promise<ClimbFloor> {
    const { tower, floor } = readClimb(receipt);
    const call = (attempt: Attempt) => this.#rpc.submitFloor({ receipt, acts }, attempt);
    const { value, served } = await this.#unary(options, call);
    return checkClimbFloor(value, served, tower, floor + 1);
  }

  /**
   * The sealed tower of the day.
   *
   * @throws ConnectError with the server's status.
   */
  async getDaily(options: CallOptions = {}): Promise<Daily> {
    const { value } = await this.#unary(options, (attempt) => this.#rpc.getDaily({}, attempt));
    return value;
  }

  async #unary<T>(options: CallOptions, call: (attempt: Attempt) => Promise<T>): Promise<{ value: T; served: Served }> {
    checkLimits(options);
    const deadline = deadlineIn(options.timeoutMs ?? this.#timeoutMs);
    const retries = new Retries(this.#retries, deadline, options.signal);
    for (;;) {
      let headers = new Headers();
      try {
        const value = await call({ ...this.#attempt(options, deadline), onHeader: (received) => (headers = received) });
        return { value, served: servedFrom(headers) };
      } catch (error) {
        await retries.waitAfter(error);
      }
    }
  }

  #attempt(options: CallOptions, deadline: number): Attempt {
    const headers = new Headers();
    if (options.noCache) headers.set("cache-control", "no-cache");
    if (options.trace) headers.set("floor-trace", "1");
    if (options.generatorVersion !== undefined) {
      headers.set("floor-generator-version", `${asUint32("generatorVersion", options.generatorVersion)}`);
    }
    const timeoutMs = Math.ceil(deadline - performance.now());
    if (timeoutMs <= 0) throw new ConnectError("the deadline has passed", Code.DeadlineExceeded);
    return {
      headers,
      onHeader: () => undefined,
      ...(options.signal && { signal: options.signal }),
      ...(Number.isFinite(timeoutMs) && { timeoutMs }),
    };
  }
}

/** The specs in batches that are within the limits, whatever size a floor without one gets. */
function* batched(specs: Iterable<SpecInit>): Generator<FloorSpec[], void, undefined> {
  let batch: FloorSpec[] = [];
  let cells = 0;
  for (const spec of specs) {
    const next = asSpec(spec);
    const size = (next.width || MAX_SIDE) * (next.height || MAX_SIDE);
    if (batch.length === MAX_BATCH || (batch.length > 0 && cells + size > MAX_BATCH_CELLS)) {
      yield batch;
      batch = [];
      cells = 0;
    }
    batch.push(next);
    cells += size;
  }
  if (batch.length > 0) yield batch;
}

/** The time of `performance.now()` in so many milliseconds; infinity for 0. */
function deadlineIn(timeoutMs: number): number {
  return timeoutMs > 0 ? performance.now() + timeoutMs : Infinity;
}

/** The messages of a stream, which fails when none arrives within its timeout. The reader's time does not count. */
async function* punctual<T>(messages: AsyncIterable<T>, ended: AbortController, timeout: () => number): AsyncGenerator<T> {
  const limited = () => {
    const ms = timeout();
    const late = () => ended.abort(new ConnectError(`no floor arrived for ${Math.round(ms)} ms`, Code.DeadlineExceeded));
    return ms < MAX_TIMER_MS ? setTimeout(late, ms) : undefined;
  };
  let timer = limited();
  try {
    for await (const message of messages) {
      clearTimeout(timer);
      yield message;
      timer = limited();
    }
  } finally {
    clearTimeout(timer);
  }
}
