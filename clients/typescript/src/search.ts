/** A search: what its calls ask for, one after the other, and what they find. */
import { clone, create } from "@bufbuild/protobuf";

import { isAnswer } from "./floor.js";
import {
  type FloorSpec,
  FloorSpecSchema,
  type SearchFloorsRequest,
  SearchFloorsRequestSchema,
  type SearchFloorsResponse,
} from "./gen/floors/v1/floors_pb.js";
import { InvalidFloorError } from "./invalid.js";
import { shown } from "./shown.js";
import { type SpecInit, asSeed, asSpec, asUint32 } from "./spec.js";

/** The most towers of a call. */
const MAX_SEEDS = 1_000;

/** A floor that meets the condition of a search. */
export interface Match {
  /** Resolved: number, width, height and kind are never 0. */
  spec: FloorSpec;
  /** What the floor is called; "" if it has no name. */
  name: string;
}

/** What is searched beside the first floor and the condition. */
export interface SearchOptions {
  /** The towers, in place of that of the first floor. */
  seeds?: Iterable<bigint | number | string>;
  /** The search ends after so many matches. */
  limit?: number;
}

/** The calls of a search. The response to a request is read before the next one is taken. */
export class Search {
  readonly #towers: Iterator<bigint | number | string>;
  readonly #request: SearchFloorsRequest;
  #left: number;

  /** @throws TypeError for an argument that cannot be used. */
  constructor(first: SpecInit, count: number, condition: string, { seeds = [], limit = Infinity }: SearchOptions) {
    if (typeof condition !== "string") {
      throw new TypeError(`condition is ${shown(condition)}: write a text such as "loops > 4"`);
    }
    if (typeof seeds === "string") throw new TypeError(`seeds is ${shown(seeds)}: write a list`);
    this.#left = limit === Infinity ? limit : asUint32("limit", limit);
    this.#towers = seeds[Symbol.iterator]();
    const range = { first: asSpec(first), count: asUint32("count", count), condition };
    this.#request = create(SearchFloorsRequestSchema, { ...range, seeds: this.#nextSeeds() });
  }

  *requests(): Generator<SearchFloorsRequest, void, undefined> {
    while (this.#left > 0) {
      this.#request.limit = this.#left === Infinity ? 0 : this.#left;
      yield clone(SearchFloorsRequestSchema, this.#request);
      if (this.#request.skip > 0n) continue;
      this.#request.seeds = this.#nextSeeds();
      if (this.#request.seeds.length === 0) return;
    }
  }

  /** @throws InvalidFloorError if the response cannot be one to the last request. */
  read({ matches, next }: SearchFloorsResponse): Match[] {
    if (next > 0n && next <= this.#request.skip) {
      throw new InvalidFloorError("spec", `after ${this.#request.skip} floors the search goes on at ${next}`);
    }
    const found = matches.slice(0, this.#left).map(({ spec, name }) => this.#match(spec, name?.text ?? ""));
    this.#request.skip = next;
    this.#left -= found.length;
    return found;
  }

  #match(spec: FloorSpec | undefined, name: string): Match {
    const { first, count, seeds } = this.#request;
    if (!spec || !first) throw new InvalidFloorError("missing", "a match names no floor");
    const isInTower = seeds.length === 0 ? spec.seed === first.seed : seeds.includes(spec.seed);
    const isInRange = spec.number >= first.number && spec.number < first.number + count;
    const asked = clone(FloorSpecSchema, first);
    Object.assign(asked, { seed: spec.seed, number: spec.number });
    if (!isInTower || !isInRange || !isAnswer(spec, asked)) {
      throw new InvalidFloorError("spec", `floor ${spec.number} of tower ${spec.seed} was not asked for`);
    }
    return { spec, name };
  }

  #nextSeeds(): bigint[] {
    const seeds: bigint[] = [];
    while (seeds.length < MAX_SEEDS) {
      const { done, value } = this.#towers.next();
      if (done) break;
      seeds.push(asSeed(value));
    }
    return seeds;
  }
}
