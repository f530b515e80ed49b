// Colours: those of things, and for each theme those of its look, on dark and on light.

import { Terrain } from "./floor";
import { hex, type Look, type Rgb } from "./look";

export type { Rgb } from "./look";

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
const MONSTER = hex("#e54b3c");
const LOOT = hex("#ffd24a");
const TRAP = hex("#d06be8");
/** The colours of furniture, as in floorctl's pictures. */
const FURNITURE = {
  wood: hex("#b07a46"), stone: hex("#cdc5b4"), leaf: hex("#6da34d"), water: hex("#6cb4d2"), fire: hex("#f28a3c"),
  light: LIGHT,
};
export const PLAYER = hex("#4fd1ff");

/** Data on dark or on light, or a map in ink on paper. */
export type Mode = "dark" | "light" | "paper";

export interface Palette {
  name: Mode;
  look: Look;
  /** Tells palettes apart. */
  key: string;
  /** Behind everything. */
  rock: Rgb;
  /** Shadows and outlines. */
  ink: Rgb;
  wallTop: Rgb;
  exitPath: Rgb;
  monster: Rgb;
  loot: Rgb;
  trap: Rgb;
  wood: Rgb;
  stone: Rgb;
  leaf: Rgb;
  water: Rgb;
  fire: Rgb;
  light: Rgb;
  /** Letters on things. */
  letter: Rgb;
  terrain(terrain: number): Rgb;
  /** The tint of a room's ground; undefined for ordinary roles. */
  tint(role: number): Rgb | undefined;
}

const WHITE = hex("#ffffff");
export const PAPER = hex("#f7f2e6");

/** The colours of terrain. On light, those of the look are brighter by so much, of 256. */
function terrainOf(mode: Mode, look: Look): Partial<Record<Terrain, Rgb>> {
  const lit = (colour: Rgb, part: number): Rgb => (mode === "dark" ? colour : mix(colour, WHITE, part));
  const floor = mode === "paper" ? mix(mix(PAPER, WHITE, 128), look.floor, 22) : lit(look.floor, 160);
  return {
    [Terrain.Wall]: lit(look.wall, 50), [Terrain.Floor]: floor, [Terrain.Door]: hex("#b97a3d"),
    [Terrain.SecretDoor]: mode === "dark" ? hex("#9a7fc4") : hex("#8462b8"), [Terrain.StairsUp]: hex("#7be07b"),
    [Terrain.StairsDown]: hex("#6fb4ff"), [Terrain.ShallowWater]: lit(look.shallow, 105), [Terrain.DeepWater]: lit(look.deep, 60),
    [Terrain.Lava]: look.lava, [Terrain.Chasm]: lit(look.chasm, 20), [Terrain.Bridge]: lit(hex("#9c6b3a"), 70),
    [Terrain.Grass]: lit(look.grass, 100), [Terrain.Rubble]: mix(look.floor, look.wall, 90), [Terrain.Pillar]: mix(look.floor, WHITE, 100),
  };
}

const cache = new WeakMap<Look, Partial<Record<Mode, Palette>>>();

/** The palette of a theme on dark or light. */
export function paletteOf(mode: Mode, look: Look): Palette {
  const both = cache.get(look) ?? {};
  cache.set(look, both);
  return (both[mode] ??= newPalette(mode, look));
}

let palettes = 0;

function newPalette(mode: Mode, look: Look): Palette {
  const terrain = terrainOf(mode, look);
  const of = (at: number): Rgb => terrain[at as Terrain] ?? hex("#ff00ff");
  // In the order of `ROLES`.
  const tints = [undefined, of(Terrain.StairsUp), of(Terrain.StairsDown), undefined, LOOT, hex("#e84d8a"),
    hex("#45d6d6"), hex("#f0963c"), hex("#c82a2a"), LOOT, of(Terrain.SecretDoor), undefined];
  const isDark = mode === "dark";
  const isPaper = mode === "paper";
  const token = (colour: Rgb): Rgb => (isPaper ? mix(WHITE, colour, 60) : colour);
  const furniture = Object.fromEntries(Object.entries(FURNITURE).map(([name, colour]) =>
    [name, isPaper ? mix(colour, WHITE, 130) : colour])) as typeof FURNITURE;
  return {
    ...furniture, name: mode, look, key: String(++palettes),
    rock: isDark ? look.rock : isPaper ? mix(PAPER, look.wall, 44) : mix(PAPER, look.wall, 22),
    ink: isPaper ? mix(look.ink, look.wall, 50) : look.ink,
    wallTop: isDark ? mix(look.wall, look.rock, 120) : mix(look.wall, WHITE, 140),
    exitPath: isDark ? WHITE : hex("#1c5fd0"),
    monster: token(MONSTER), loot: token(LOOT), trap: token(TRAP), letter: isPaper ? look.ink : LIGHT,
    terrain: of, tint: (role) => tints[role],
  };
}
