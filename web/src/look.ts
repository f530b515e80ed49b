// How the floors of a theme look, as the pack says.

export type Rgb = readonly [number, number, number];

export const hex = (text: string): Rgb =>
  [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;

/** What a theme looks like. `hatch` is how its rock is drawn on a map. */
export interface Look {
  rock: Rgb; wall: Rgb; floor: Rgb; shallow: Rgb; deep: Rgb; lava: Rgb; grass: Rgb; chasm: Rgb; ink: Rgb;
  hatch: string;
  /** It as the generator writes it. */
  words: string;
}

/** Reads the colours of a look as hexadecimal, in the order of its fields, and its hatching. */
export function parseLook(words: string[]): Look {
  const [rock, wall, floor, shallow, deep, lava, grass, chasm, ink, hatch] = words;
  const of = (colour: string): Rgb => hex(`#${colour}`);
  return {
    rock: of(rock), wall: of(wall), floor: of(floor), shallow: of(shallow), deep: of(deep), lava: of(lava),
    grass: of(grass), chasm: of(chasm), ink: of(ink), hatch, words: words.join(" "),
  };
}

/** Of a theme that the pack does not have. */
export const PLAIN = parseLook("17161d 5d5868 a39782 4f9dbd 245a8c f26a21 6da34d 3c3350 100e14 strokes".split(" "));
