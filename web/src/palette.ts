// Colours: those of floorctl's PNG (floor-export/src/picture/colour.rs and glyph.rs) on dark, and a light set.

import { Terrain } from "./floor";

export type Rgb = readonly [number, number, number];

const hex = (text: string): Rgb =>
  [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;

/** Mixes `base` with `over`; `part` is the share of `over`, of 256. */
export const mix = (base: Rgb, over: Rgb, part: number): Rgb =>
  base.map((channel, at) => (channel * (256 - part) + over[at] * part) >> 8) as unknown as Rgb;

export const css = ([r, g, b]: Rgb, opacity = 1): string => `rgb(${r} ${g} ${b} / ${opacity})`;

const LOCKS = ["#e84d8a", "#4db8e8", "#8cd84f", "#b07cf0", "#f0963c", "#45d6b5"].map(hex);
const ROOMS = ["#e6c88c", "#93c9d6", "#d9a0c4", "#b4d394", "#e0a086", "#b2aae0"].map(hex);

export const lockColour = (id: number): Rgb => LOCKS[(id + LOCKS.length - 1) % LOCKS.length];
export const roomColour = (index: number): Rgb => ROOMS[index % ROOMS.length];

/** Share of a room's tint in its ground, of 256. */
export const TINT = 58;
export const LIGHT = hex("#fff6e0");
export const MONSTER = hex("#e54b3c");
export const LOOT = hex("#ffd24a");
export const TRAP = hex("#d06be8");
export const PLAYER = hex("#4fd1ff");

const DARK_TERRAIN: Partial<Record<Terrain, string>> = {
  [Terrain.Wall]: "#5d5868", [Terrain.Floor]: "#a39782", [Terrain.Door]: "#b97a3d", [Terrain.LockedDoor]: "#ff00ff",
  [Terrain.SecretDoor]: "#9a7fc4", [Terrain.StairsUp]: "#7be07b", [Terrain.StairsDown]: "#6fb4ff",
  [Terrain.ShallowWater]: "#4f9dbd", [Terrain.DeepWater]: "#245a8c", [Terrain.Lava]: "#f26a21",
  [Terrain.Chasm]: "#866cb0", [Terrain.Bridge]: "#9c6b3a", [Terrain.Grass]: "#6da34d", [Terrain.Rubble]: "#8b8378",
  [Terrain.Pillar]: "#cdc5b4",
};

const LIGHT_TERRAIN: typeof DARK_TERRAIN = {
  ...DARK_TERRAIN, [Terrain.Wall]: "#7d7686", [Terrain.Floor]: "#e9dfca", [Terrain.SecretDoor]: "#8462b8",
  [Terrain.ShallowWater]: "#8cc7dc", [Terrain.DeepWater]: "#3f7fb5", [Terrain.Chasm]: "#8a78aa",
  [Terrain.Bridge]: "#b98a55", [Terrain.Grass]: "#a3c77e", [Terrain.Pillar]: "#c4baa6",
};

export interface Palette {
  name: "dark" | "light";
  /** Behind everything. */
  rock: Rgb;
  /** Shadows and outlines. */
  ink: Rgb;
  wallTop: Rgb;
  exitPath: Rgb;
  terrain(terrain: number): Rgb;
  /** The tint of a room's ground; undefined for ordinary roles. */
  tint(role: number): Rgb | undefined;
}

function palette(name: "dark" | "light", rock: string, colours: typeof DARK_TERRAIN, wallTop: Rgb): Palette {
  const terrain = Object.fromEntries(Object.entries(colours).map(([key, colour]) => [key, hex(colour)]));
  const of = (at: Terrain): Rgb => terrain[at];
  // In the order of `ROLES`.
  const tints = [undefined, of(Terrain.StairsUp), of(Terrain.StairsDown), undefined, LOOT, hex("#e84d8a"),
    hex("#45d6d6"), hex("#f0963c"), hex("#c82a2a"), LOOT, of(Terrain.SecretDoor), undefined];
  return {
    name, rock: hex(rock), ink: hex("#100e14"), wallTop, exitPath: hex(name === "dark" ? "#ffffff" : "#1c5fd0"),
    terrain: (at) => terrain[at] ?? hex("#ff00ff"),
    tint: (role) => tints[role],
  };
}

export const DARK = palette("dark", "#17161d", DARK_TERRAIN, mix(hex("#5d5868"), hex("#17161d"), 120));
export const LIGHT_PALETTE = palette("light", "#f3efe6", LIGHT_TERRAIN, hex("#bcb4bf"));
