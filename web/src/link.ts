// What the address after `#` holds: the floors, what is shown of them and how, a walk, and a search.
//
// An example: `#f=42/7&g=42/8:maze@64x48&layers=terrain,path&at=50,50,12&walk=e12s3`

import { KINDS } from "./floor";
import type { Spec } from "./generator";
import { parseSeed } from "./seed";
import { DEFAULT_LAYERS, type Layer, LAYERS, type Layers } from "./scene";

export interface SearchForm { where: string; seeds: string; numbers: string; limit: string }

export interface LinkState {
  /** Whether the tower of the day is climbed. Nothing else is in the link then. */
  isDaily?: boolean;
  /** One floor, or two side by side. */
  floors: Spec[];
  layers: Layers;
  /** Whether it is drawn as a map. */
  isMap: boolean;
  /** The cell in the middle and the side of a cell in CSS pixels; undefined: the whole floor. */
  view?: { x: number; y: number; side: number };
  /** The moves of a walk on the first floor. */
  walk?: string;
  search?: SearchForm;
}

export const DEFAULT_SPEC: Spec = { seed: 42n, number: 7, width: 100, height: 100, kind: 0 };

const NAMES = ["f", "g", "layers", "style", "at", "walk", "where", "seeds", "numbers", "limit"];

export function formatSpec({ seed, number, width, height, kind }: Spec): string {
  return `${seed}/${number}${kind ? `:${KINDS[kind]}` : ""}${width === 100 && height === 100 ? "" : `@${width}x${height}`}`;
}

/** Parses a floor in the notation of floorctl: `42/7`, `42/7:cavern`, `42/7:cavern@64x48`. Throws what is wrong. */
export function parseSpec(text: string): Spec {
  const match = /^([^/]*)\/([^:@]*)(?::([^@]*))?(?:@(.*))?$/.exec(text);
  if (!match) throw new SyntaxError(`${quote(text)} is no floor; write SEED/NUMBER, such as 42/7 or 42/7:cavern@64x48`);
  const [, seed, number, kind, size] = match;
  return { seed: parseSeed(seed), number: parseNumber(number), kind: parseKind(kind), ...parseSize(size) };
}

export function parseNumber(text: string): number {
  const value = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  if (value < 1 || value > 1_000_000) {
    throw new RangeError(`floor number ${quote(text)}: floors are numbered from 1 to 1000000`);
  }
  return value;
}

function parseKind(text: string | undefined): number {
  if (text === undefined) return 0;
  const kind = KINDS.indexOf(text, 1);
  if (kind < 0) throw new RangeError(`kind ${quote(text)}: there are ${KINDS.slice(1).join(", ")}`);
  return kind;
}

function parseSize(text: string | undefined): { width: number; height: number } {
  if (text === undefined) return { width: 100, height: 100 };
  const match = /^(\d+)x(\d+)$/i.exec(text);
  if (!match) throw new SyntaxError(`size ${quote(text)}: write width x height, such as 64x48`);
  return { width: parseSide(match[1], "width"), height: parseSide(match[2], "height") };
}

export function parseSide(text: string, name: string): number {
  const value = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  if (value < 16 || value > 512) throw new RangeError(`${name} ${quote(text)}: a floor is 16 to 512 cells wide and high`);
  return value;
}

/** `A-B` or `A`, both ends included. */
export function parseRange<N extends number | bigint>(text: string, parse: (text: string) => N): [N, N] {
  const [first, last = first, more] = text.split("-").map((part) => part.trim());
  if (more !== undefined) throw new SyntaxError(`${quote(text)} is no range; write FIRST-LAST`);
  const range: [N, N] = [parse(first), parse(last)];
  if (range[0] > range[1]) throw new RangeError(`${text} runs backwards; write ${last}-${first}`);
  return range;
}

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

const DAILY = "#daily";

export function format({ isDaily, floors, layers, isMap, view, walk, search }: LinkState): string {
  if (isDaily) return DAILY;
  const parts = [`f=${formatSpec(floors[0])}`];
  if (floors[1]) parts.push(`g=${formatSpec(floors[1])}`);
  const isDefault = layers.size === DEFAULT_LAYERS.size && [...layers].every((layer) => DEFAULT_LAYERS.has(layer));
  if (!isDefault) parts.push(`layers=${LAYERS.map(([key]) => key).filter((key) => layers.has(key)).join(",")}`);
  if (!isMap) parts.push("style=data");
  if (view) parts.push(`at=${view.x},${view.y},${view.side}`);
  if (walk !== undefined) parts.push(`walk=${walk}`);
  if (search) {
    parts.push(...Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(value)}`));
  }
  return `#${parts.join("&")}`;
}

/** Reads a fragment. What is wrong is named and left out; the rest stays. */
export function parse(fragment: string): { state: LinkState; errors: string[] } {
  const errors: string[] = [];
  const values = new Map<string, string>();
  const isDaily = fragment === DAILY;
  for (const pair of (isDaily ? "" : fragment).replace(/^#/, "").split("&").filter(Boolean)) {
    const [name, ...rest] = pair.split("=");
    attempt(() => {
      if (!NAMES.includes(name)) throw new SyntaxError(`${quote(name)} is no part of a link; there are ${NAMES.join(", ")}`);
      if (values.has(name)) throw new SyntaxError(`${name} is given twice`);
      values.set(name, decode(rest.join("=")));
    });
  }

  function attempt<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      errors.push((error as Error).message);
      return undefined;
    }
  }
  const read = <T>(name: string, parse: (text: string) => T): T | undefined => {
    const text = values.get(name);
    return text === undefined ? undefined : attempt(() => parse(text));
  };

  const other = read("g", parseSpec);
  const state: LinkState = {
    isDaily,
    floors: [read("f", parseSpec) ?? DEFAULT_SPEC, ...(other ? [other] : [])],
    layers: read("layers", parseLayers) ?? DEFAULT_LAYERS,
    isMap: read("style", parseStyle) ?? true,
    view: read("at", parseView),
    walk: values.get("walk"),
  };
  if (values.has("where")) {
    state.search = {
      where: values.get("where") ?? "", seeds: values.get("seeds") ?? "", numbers: values.get("numbers") ?? "",
      limit: values.get("limit") ?? "",
    };
  }
  return { state, errors };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SyntaxError(`${quote(text)} has a % that begins no character`);
  }
}

function parseLayers(text: string): Layers {
  const known = LAYERS.map(([key]) => key);
  return new Set(text.split(",").filter(Boolean).map((name) => {
    if (!known.includes(name as Layer)) throw new RangeError(`layer ${quote(name)}: there are ${known.join(", ")}`);
    return name as Layer;
  }));
}

function parseStyle(text: string): boolean {
  if (text !== "map" && text !== "data") throw new RangeError(`style ${quote(text)}: there are map and data`);
  return text === "map";
}

function parseView(text: string): LinkState["view"] {
  const [x, y, side] = text.split(",").map(Number);
  const fine = /^-?\d+(\.\d+)?,-?\d+(\.\d+)?,\d+(\.\d+)?$/.test(text) && side > 0 && side <= 128;
  if (!fine || Math.abs(x) > 1000 || Math.abs(y) > 1000) {
    throw new RangeError(`at ${quote(text)}: write x,y,size: the cell in the middle and its side in pixels`);
  }
  return { x, y, side };
}
