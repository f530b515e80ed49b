// How many there are of something, in words: `two skeletons`, `a dozen rats`.

import { BEHAVIOURS, plain } from "./floor";
import type { Thing } from "./scene";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
/** What is not counted by the piece. */
const MASS = new Set(
  "bread gold silver meat food oil water wine ale incense salt dust ash armour armor ink honey moss gravel straw".split(" "),
);
/** What a monster is about, in the order of `BEHAVIOURS`; then in a climb. */
const STATES = ["", "asleep", "on guard", "on patrol", "wandering", "after you", "fleeing"];

/** `bread`, `spikes`, `a torn map`, `two torn maps`, `bread in two places`. */
export function some(count: number, name: string): string {
  const [what, ...of] = name.split(" of ");
  if (of.length) return [some(count, what), ...of].join(" of ");
  if (MASS.has(name.slice(name.lastIndexOf(" ") + 1))) return count === 1 ? name : `${name} in ${inWords(count)} places`;
  if (count === 1 && plural(name) === name) return name;
  return count === 1 ? `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}` : `${inWords(count)} ${plural(name)}`;
}

const inWords = (count: number): string => NUMBERS[count] ?? count.toLocaleString("en");

/** `lizardmen`, `witches`, `harpies`, `wolves`, `skeletons`. What has the form of several stays. */
function plural(name: string): string {
  if (name.endsWith("man")) return `${name.slice(0, -3)}men`;
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  if (/(wol|shel|cal|hal)f$/.test(name)) return `${name.slice(0, -1)}ves`;
  if (/[^su]s$/.test(name)) return name;
  return /(s|x|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/** What monsters with these behaviours are about: `asleep or on patrol`. Empty for more than two. */
export function states(behaviours: number[]): string {
  const all = [...new Set(behaviours)].sort().map((at) => STATES[at] ?? BEHAVIOURS[at]).filter(Boolean);
  return all.length > 2 ? "" : all.join(" or ");
}

/** Things of one type: `two skeletons, asleep`, `a torn map`, `three traps: spikes`. */
export function thingsInWords(things: Thing[]): string {
  const [{ layer, archetype }] = things;
  const name = plain(archetype);
  if (layer === "traps") return `${some(things.length, "trap")}: ${name}`;
  return [some(things.length, name), states(things.flatMap(({ behaviour }) => behaviour ?? []))].filter(Boolean).join(", ");
}
