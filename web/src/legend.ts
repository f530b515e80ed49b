// The legend: a line for each mark that occurs. A line with places is a button that visits them in turn.

import { describeCell, several } from "./describe";
import { plain, ROLES, Terrain, TERRAIN_NAMES } from "./floor";
import type { Palette } from "./palette";
import { indexOf } from "./paths";
import type { Scene } from "./scene";
import { drawSample } from "./sprites";

interface Line { sprite: string; text: string; places: number[] }

/** Side of a sample, in CSS pixels. */
const SIDE = 18;

export function fillLegend(list: HTMLElement, scene: Scene, palette: Palette, visit: (index: number) => void): void {
  list.replaceChildren(...[...terrain(scene), ...locks(scene), ...things(scene), ...roles(scene)].map((line) => {
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
  drawSample(canvas.getContext("2d") as CanvasRenderingContext2D, palette, sprite, side);
  return canvas;
}

const SPRITES: Record<number, string> = {
  [Terrain.Wall]: "wall", [Terrain.Door]: "door", [Terrain.SecretDoor]: "secret",
  [Terrain.StairsUp]: "stairs:up", [Terrain.StairsDown]: "stairs:down",
};
/** Terrain with few cells, which a button visits. */
const RARE = [Terrain.SecretDoor, Terrain.StairsUp, Terrain.StairsDown];

function terrain({ floor }: Scene): Line[] {
  const occurs = [...new Set(floor.terrain)].sort((a, b) => a - b).filter((at) => at !== Terrain.LockedDoor);
  return occurs.map((at) => ({
    sprite: SPRITES[at] ?? `terrain:${at}`,
    text: TERRAIN_NAMES[at],
    places: RARE.includes(at) ? [...floor.terrain.keys()].filter((index) => floor.terrain[index] === at) : [],
  }));
}

function locks({ floor }: Scene): Line[] {
  return floor.locks.flatMap(({ id, at }) => [
    { sprite: `lock:${id}`, text: `lock ${id}`, places: [indexOf(floor, at)] },
    {
      sprite: `key:${id}`,
      text: `key of lock ${id}`,
      places: floor.items.filter((item) => item.opens === id).map((item) => indexOf(floor, item.at)),
    },
  ]);
}

function things(scene: Scene): Line[] {
  const groups = new Map<string, Line & { levels: number[] }>();
  const order = ["monsters", "loot", "traps"];
  const sorted = [...scene.things].filter(([, thing]) => thing.layer !== "locks").sort(([, a], [, b]) =>
    order.indexOf(a.layer) - order.indexOf(b.layer) || a.archetype.localeCompare(b.archetype));
  for (const [index, thing] of sorted) {
    const key = `${thing.layer} ${thing.archetype}`;
    const group = groups.get(key) ?? { sprite: thing.sprite, text: plain(thing.archetype), places: [], levels: [] };
    group.places.push(index);
    group.levels.push(thing.number);
    groups.set(key, group);
  }
  return [...groups].map(([key, { sprite, text, places, levels }]) => {
    const [least, greatest] = [Math.min(...levels), Math.max(...levels)];
    const what = key.startsWith("loot") ? "value" : "level";
    const range = least === greatest ? String(least) : `${least} to ${greatest}`;
    places.sort((a, b) => a - b);
    return { sprite, text: `${text} × ${places.length}, ${what} ${range}`, places };
  });
}

function roles({ floor }: Scene): Line[] {
  return ROLES.map((name, role) => {
    const rooms = floor.rooms.filter((room) => room.role === role);
    return { sprite: `tint:${role}`, text: several(rooms.length, `${name} room`), places: rooms.map((room) => indexOf(floor, room.center)) };
  }).filter(({ places }) => places.length);
}

/** The places of everything that a keyboard user may want to visit, in reading order. */
export function stops(scene: Scene): number[] {
  const { floor } = scene;
  const all = [indexOf(floor, floor.entry), indexOf(floor, floor.exit), ...scene.locks.keys(), ...scene.things.keys()];
  return [...new Set(all)].sort((a, b) => a - b).filter((index) => describeCell(scene, index).length > 0);
}
