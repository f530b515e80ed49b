// The legend: a line for each mark that occurs. A line with places is a button that visits them in turn.

import { several } from "./describe";
import { plain, type Point, ROLES, Terrain, TERRAIN_NAMES } from "./floor";
import { type Fog, knownLocks, knownRooms, knownTerrain, visibleKey, visibleThing } from "./fog";
import { samplePainter } from "./map-sprites";
import type { Palette } from "./palette";
import { indexOf } from "./paths";
import type { Scene, Thing } from "./scene";
import { drawSample } from "./sprites";
import { some, states, thingsInWords } from "./words";

interface Line { sprite: string; text: string; places: number[] }

/** Side of a sample, in CSS pixels. */
const SIDE = 18;

export function fillLegend(list: HTMLElement, scene: Scene, palette: Palette, visit: (index: number) => void, fog?: Fog): void {
  const lines = [terrain, furniture, locks, things, roles].flatMap((part) => part(scene, fog));
  list.replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    const content = line.places.length ? item.appendChild(document.createElement("button")) : item;
    const text = document.createElement("span");
    text.textContent = line.text;
    content.append(sample(line.sprite, palette), text);
    if (content instanceof HTMLButtonElement) {
      content.type = "button";
      let next = 0;
      content.addEventListener("click", () => visit(line.places[next++ % line.places.length]));
    }
    return item;
  }));
}

function sample(sprite: string, palette: Palette): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const side = Math.round(SIDE * (window.devicePixelRatio || 1));
  canvas.width = canvas.height = side;
  canvas.setAttribute("aria-hidden", "true");
  drawSample(canvas.getContext("2d") as CanvasRenderingContext2D, palette, sprite, side, palette.name === "paper" ? samplePainter : undefined);
  return canvas;
}

const SPRITES: Record<number, string> = {
  [Terrain.Wall]: "wall", [Terrain.Door]: "door", [Terrain.SecretDoor]: "secret",
  [Terrain.StairsUp]: "stairs:up", [Terrain.StairsDown]: "stairs:down",
};
/** Terrain with few cells, which a button visits. */
const RARE = [Terrain.SecretDoor, Terrain.StairsUp, Terrain.StairsDown];

function terrain({ floor }: Scene, fog?: Fog): Line[] {
  const known = floor.terrain.map((_, index) => knownTerrain(floor, index, fog));
  const occurs = [...new Set(known)].sort((a, b) => a - b).filter((at) => at && at !== Terrain.LockedDoor);
  return occurs.map((at) => ({
    sprite: SPRITES[at] ?? `terrain:${at}`,
    text: TERRAIN_NAMES[at],
    places: RARE.includes(at) ? [...known.keys()].filter((index) => known[index] === at) : [],
  }));
}

function furniture({ floor, pieces }: Scene, fog?: Fog): Line[] {
  const lines = new Map<string, Line>();
  for (const [index, { archetype, sprite }] of [...pieces].sort(([a], [b]) => a - b)) {
    if (!knownTerrain(floor, index, fog)) continue;
    const line = lines.get(archetype) ?? { sprite, text: "", places: [] };
    line.places.push(index);
    line.text = some(line.places.length, plain(archetype));
    lines.set(archetype, line);
  }
  return [...lines].sort(([a], [b]) => a.localeCompare(b)).map(([, line]) => line);
}

function locks(scene: Scene, fog?: Fog): Line[] {
  const { floor } = scene;
  const line = (what: string, id: number, text: string, ...at: Point[]): Line =>
    ({ sprite: `${what}:${id}`, text, places: at.map((place) => indexOf(floor, place)) });
  const known = knownLocks(floor, fog);
  return floor.locks.flatMap((lock) => {
    const key = visibleKey(scene, lock.id, fog);
    return [
      ...(known.includes(lock) ? [line("lock", lock.id, `lock ${lock.id}`, lock.at)] : []),
      ...(key ? [line("key", lock.id, `key of lock ${lock.id}`, key.at)] : []),
      ...(fog?.keys.has(lock.id) ? [line("key", lock.id, `key of lock ${lock.id}, yours`)] : []),
    ];
  });
}

function things(scene: Scene, fog?: Fog): Line[] {
  const groups = new Map<string, { line: Line; things: Thing[] }>();
  const order = ["monsters", "loot", "traps"];
  const shown = [...scene.things].filter(([index, thing]) => thing.layer !== "locks" && visibleThing(scene, index, fog));
  const sorted = shown.sort(([, a], [, b]) =>
    order.indexOf(a.layer) - order.indexOf(b.layer) || a.archetype.localeCompare(b.archetype));
  for (const [index, thing] of sorted) {
    const key = `${thing.layer} ${thing.archetype}`;
    const group = groups.get(key) ?? { line: { sprite: thing.sprite, text: "", places: [] }, things: [] };
    group.line.places.push(index);
    group.things.push(thing);
    groups.set(key, group);
  }
  const doing = new Set(shown.flatMap(([, { behaviour }]) => behaviour ?? []));
  const forms = [...doing].sort().map((at) => ({ sprite: `monster:${at - 1}:`, text: `it is ${states([at])}`, places: [] }));
  return [...forms, ...[...groups.values()].map(({ line, things }) => {
    line.places.sort((a, b) => a - b);
    return { ...line, text: thingsInWords(things) };
  })];
}

function roles({ floor }: Scene, fog?: Fog): Line[] {
  const known = knownRooms(floor, fog);
  return ROLES.map((name, role) => {
    const places = known.filter(({ room }) => room.role === role).map(({ place }) => place);
    return { sprite: `tint:${role}`, text: several(places.length, `${name} room`), places };
  }).filter(({ places }) => places.length);
}

/** The places of everything that a keyboard user may want to visit, in reading order. */
export function stops(scene: Scene, fog?: Fog): number[] {
  const { floor } = scene;
  const fixed = [indexOf(floor, floor.entry), indexOf(floor, floor.exit), ...scene.locks.keys()];
  const places = [
    ...fixed.filter((index) => knownTerrain(floor, index, fog)),
    ...[...scene.things.keys()].filter((index) => visibleThing(scene, index, fog)),
  ];
  return [...new Set(places)].sort((a, b) => a - b);
}
