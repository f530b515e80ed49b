// Plays a floor with the viewer's module of the rules, without a browser: web/tests/rules.mjs DIRECTORY, into which
// web/build has built.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [directory] = process.argv.slice(2);
const instance = async (file) =>
  (await WebAssembly.instantiate(readFileSync(join(directory, file)))).instance.exports;

const output = ({ memory, output, output_len }) => Buffer.from(new Uint8Array(memory.buffer, output(), output_len()));
function write({ memory, input }, bytes) {
  const at = input(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
}

const varint = (number) => (number < 128 ? [number] : [number % 128 | 128, ...varint(Math.floor(number / 128))]);
/** A field with bytes or a message, and one with a number. */
const field = (number, bytes) => [number << 3 | 2, ...varint(bytes.length), ...bytes];
const numeral = (number, value) => [number << 3, ...varint(value)];

const generator = await instance("floors.wasm");
assert.equal(generator.floor(42n, 1, 48, 48, 0, 0), 1);
const floor = output(generator);
/** What `StartClimb` would answer with for a hero with these points of health. */
const revealed = (health, rolls = 16) => {
  const hero = [...numeral(1, health), ...numeral(2, 40), ...numeral(3, 3), ...numeral(6, 1)];
  const receipt = field(1, field(10, hero));
  return Buffer.from([...field(1, receipt), ...field(2, floor), ...field(3, new Array(rolls).fill(7))]);
};

async function begin(message) {
  const rules = await instance("climb.wasm");
  write(rules, message);
  return { rules, isBegun: rules.begin() };
}

/** The parts of what `view` returns. */
function view(rules) {
  rules.view();
  const bytes = output(rules);
  const cells = bytes.subarray(bytes.length - 48 * 48);
  const numbers = Array.from({ length: (bytes.length - cells.length) / 4 }, (_, at) => bytes.readUint32LE(at * 4));
  const [health, , , , , potions, , turns, , , at, end] = numbers;
  const monsters = numbers.slice(16, 16 + 3 * numbers[15]);
  return { health, potions, turns, at, end, monsters, cells };
}

/** Plays acts that look random, until the hero dies or has acted so often. The log of those that were possible. */
function play(rules, most) {
  const log = [];
  for (let draw = 1; log.length < most && view(rules).end === 0;) {
    draw = (draw * 48271) % 2147483647;
    const before = view(rules);
    const act = [0, 0, 1, 2, 2, 3, 3, 4, 5][draw % 9];
    if (rules.act(act)) log.push(act);
    else assert.deepEqual(view(rules), before, `a refused act changes something: ${output(rules)}`);
    assert.equal(view(rules).turns, log.length);
    check(view(rules));
  }
  return log;
}

/** The hero knows what they see, and no other monster is told. */
function check({ at: hero, end, cells, monsters }) {
  assert(cells.every((cell) => !(cell & 2) || cell & 1));
  assert(end || cells[hero] & 2, "the hero sees their cell");
  for (let at = 1; at < monsters.length; at += 3) assert(cells[monsters[at]] & 2, "a monster out of sight is told");
}

{
  const { rules, isBegun } = await begin(revealed(40));
  assert(isBegun, output(rules).toString());
  const log = play(rules, 600);
  const { rules: again } = await begin(revealed(40));
  for (const act of log) assert(again.act(act), output(again).toString());
  assert.deepEqual(view(again), view(rules), "the same acts lead to the same floor");
  assert(log.length > 100, `${log.length} acts`);
}
{
  const { rules } = await begin(revealed(40));
  assert.equal(rules.act(6), 0);
  assert.equal(output(rules).toString(), "No merchant is here.");
  assert.equal(rules.act(5), 1);
  assert.match(output(rules).toString(), /^The potion gives you 0 health\./);
  assert.equal(rules.act(5), 0);
  assert.equal(output(rules).toString(), "You have no potion.");
  assert.equal(rules.act(9), 0);
  assert.equal(output(rules).toString(), "9 is no act; acts are 0 to 8");
}
for (const [message, error] of [
  [Buffer.from("no message"), /^failed to decode/],
  [Buffer.from([]), /^the receipt has no hero$/],
  [revealed(40, 15), /^the seed of the rolls does not have 16 bytes$/],
  [revealed(40).subarray(0, 40), /^failed to decode/],
]) {
  const { rules, isBegun } = await begin(message);
  assert.equal(isBegun, 0);
  assert.match(output(rules).toString(), error);
  assert.equal(rules.act(0), 0);
  assert.equal(output(rules).toString(), "no floor has begun");
}
console.log("the module of the rules plays a floor");
