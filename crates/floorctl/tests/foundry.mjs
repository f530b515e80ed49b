// Reads exported floors of every kind with the code of Foundry's module Universal Battlemap Importer, and compares the
// walls, doors and lights that it makes with the floor. Run by hand, since the module is in no package registry:
//
//   git clone --depth 1 https://github.com/moo-man/FVTT-DD-Import
//   node crates/floorctl/tests/foundry.mjs FVTT-DD-Import/ddimport.js target/release/floorctl

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const KINDS = ["standard", "keep", "halls", "cavern", "cyclic", "maze", "boss", "event", "story"];
/** What Foundry puts around a scene, in pixels. */
const PADDING = 300;
/** The value for the greatest fidelity in the module's form, after the module's own conversion. */
const SKIP = 1;

const [module, floorctl] = process.argv.slice(2);
const exported = (floor, format) =>
  JSON.parse(execFileSync(floorctl, ["export", floor, "--offline", "--to", format], { maxBuffer: 1 << 28 }));

/** A document of Foundry: keeps its data. Coordinates of walls are four whole numbers. */
class FoundryDocument {
  constructor(data) {
    if (data.c) assert(data.c.length === 4 && data.c.every(Number.isInteger), `the wall ${data.c}`);
    Object.assign(this, data);
  }
}

function importer() {
  const foundry = {
    applications: { api: { ApplicationV2: class {}, HandlebarsApplicationMixin: (base) => base } }, utils: {},
  };
  const surroundings = {
    foundry, WallDocument: FoundryDocument, AmbientLightDocument: FoundryDocument, Hooks: { on() {} }, $: () => {},
    CONST: { WALL_SENSE_TYPES: { NONE: 0, NORMAL: 20, PROXIMITY: 30 } },
    game: { settings: { get: () => false, register() {} }, system: { grid: { distance: 5 } } },
  };
  const code = `${readFileSync(module, "utf8")}\nreturn DDImporter;`;
  return new Function(...Object.keys(surroundings), code)(...Object.values(surroundings));
}

const DDImporter = importer();
const scene = { getDimensions: () => ({ sceneX: PADDING, sceneY: PADDING }) };
for (const kind of KINDS) {
  const floor = `42/7:${kind}@100x100`;
  const { terrainRows: terrain } = exported(floor, "json");
  const map = exported(floor, "uvtt");
  const side = map.resolution.pixels_per_grid;
  const cells = ({ c }) => c.map((at) => (at - PADDING) / side);

  const edges = DDImporter.GetWalls(structuredClone(map), scene, SKIP, 0, side).flatMap((wall) => {
    const [x, y, toX, toY] = cells(wall);
    const length = Math.abs(toX - x) + Math.abs(toY - y);
    assert((x === toX) !== (y === toY), `${floor}: the wall ${cells(wall)}`);
    const [left, top] = [Math.min(x, toX), Math.min(y, toY)];
    return Array.from({ length }, (_, at) => (x === toX ? `${x},${top + at} south` : `${left + at},${y} east`));
  });
  const isWall = (x, y) => terrain[y][x] === "#";
  const expected = terrain.flatMap((row, y) => [...row].flatMap((_, x) => [
    ...(x > 0 && isWall(x, y) !== isWall(x - 1, y) ? [`${x},${y} south`] : []),
    ...(y > 0 && isWall(x, y) !== isWall(x, y - 1) ? [`${x},${y} east`] : []),
  ]));
  assert.deepEqual(edges.sort(), expected.sort(), `${floor}: walls are not the edges between wall and ground`);

  // The middle of a door lies in its cell, or on its edge if the door is a secret one.
  const doors = DDImporter.GetDoors(map, scene, 0, side);
  const places = terrain.flatMap((row, y) => [...row].flatMap((cell, x) => ("+LS".includes(cell) ? [{ cell, x, y }] : [])));
  assert.equal(doors.length, places.length, `${floor}: doors`);
  doors.forEach((door, at) => {
    const [x, y, toX, toY] = cells(door);
    const { cell, x: left, y: top } = places[at];
    const off = [(x + toX) / 2 - left - 0.5, (y + toY) / 2 - top - 0.5].map(Math.abs);
    assert.deepEqual(off.sort(), [0, cell === "S" ? 0.5 : 0], `${floor}: the door at ${left}, ${top}`);
    assert.equal(Math.abs(toX - x) + Math.abs(toY - y), 1, `${floor}: the door at ${left}, ${top}`);
    assert(door.door === 1 && door.sight === 20, `${floor}: the door at ${left}, ${top} opens and ends the view`);
  });

  const lights = DDImporter.GetLights(map, scene, side);
  assert.equal(lights.length, map.lights.length, `${floor}: lights`);
  for (const light of lights) assert.match(light.config.color, /^#[0-9a-f]{6}$/);
  console.log(`${floor}: ${edges.length} edges of walls, ${doors.length} doors, ${lights.length} lights`);
}
