// Draws the cells of a floor, as floorctl's PNG does (crates/floor-export/src/picture/sprites.rs).

import { Terrain } from "./floor";
import { type Fog, knownTerrain, visibleThing } from "./fog";
import { type Context, eachCell, type Frame, grain } from "./frame";
import { type Label, placeLabels, placeLandmark } from "./labels";
import { css, lockColour, mix, type Palette, type Rgb, roomColour } from "./palette";
import type { Layers, Scene, Thing } from "./scene";
import { drawSprite, isRoleShown, natural, painter, stamp, stoneOf } from "./sprites";

/** Smallest side at which details and letters are drawn, in pixels. */
const MIN_DETAIL = 4;
/** The side that things have at least, as far as they do not cover the cells beside them, in CSS pixels. */
const MIN_THING = 12;
/** Smallest side at which each monster of a group is drawn, in CSS pixels. */
const MIN_SEPARATE = 10;
/** Share of a lock's colour over the area behind it; each so many columns and rows the area has the number of the lock. */
const AREA = 0.34;
const NUMBERED = 5;

export function drawData(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): void {
  const { floor } = scene;
  const { left, top, side } = frame;
  ctx.fillStyle = css(palette.rock);
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  const cells = (visit: (x: number, y: number, index: number) => void): void =>
    eachCell(ctx, frame, floor.width, floor.height, fog, visit);
  const painter = new Painter(ctx, scene, frame, layers, palette, fog);
  cells((x, y, index) => painter.ground(x, y, index));
  if (layers.has("rooms")) cells((x, y, index) => painter.role(x, y, index));
  if (layers.has("names")) cells((x, y, index) => painter.outline(x, y, index));
  if (layers.has("path") && !fog) drawPath(ctx, scene, frame, palette);
  cells((x, y, index) => painter.things(x, y, index));
  if (layers.has("names") && !fog) painter.names();
  else painter.landmark();
  if (fog) {
    ctx.fillStyle = css(palette.rock, 0.55);
    cells((x, y, index) => {
      if (!fog.sees(index)) ctx.fillRect(left + x * side, top + y * side, side, side);
    });
  }
}

/** The sprites of what is on a cell. `turn` is how a door stands there. Of a group in small cells there is one. */
export function spritesAt(scene: Scene, index: number, layers: Layers, turn: string, isSmall: boolean, fog?: Fog): string[] {
  const sprites: string[] = [];
  const terrain = scene.floor.terrain[index];
  if (terrain === Terrain.StairsUp) sprites.push("stairs:up");
  if (terrain === Terrain.StairsDown) sprites.push("stairs:down");
  if (terrain === Terrain.LockedDoor && layers.has("locks")) {
    const lock = scene.locks.get(index) ?? 0;
    sprites.push(`${fog?.isOpen(lock) ? "open-lock" : "lock"}:${lock}${turn}`);
  }
  const thing = visibleThing(scene, index, fog);
  if (thing && layers.has(thing.layer)) sprites.push(...(thing.group && isSmall ? groupAt(scene, index, thing, fog) : [thing.sprite]));
  return sprites;
}

/** The sprite of a group, on the cell of the middle one of its members that are seen. */
function groupAt(scene: Scene, index: number, thing: Thing, fog?: Fog): string[] {
  const members = scene.groups.get(thing.group ?? 0) ?? [];
  if (!members.includes(index)) return [thing.sprite];
  const seen = members.filter((at) => visibleThing(scene, at, fog));
  if (seen[Math.floor(seen.length / 2)] !== index) return [];
  return [seen.length > 1 ? thing.sprite.replace("monster", `group:${seen.length}`) : thing.sprite];
}

/** Whether things that stand side by side would cover each other. */
export const isSmall = ({ side, ratio }: Frame): boolean => side < MIN_SEPARATE * ratio;

/** Draws a thing, larger than its cell if cells are small, so that it can be seen. */
export function drawMark(ctx: Context, { left, top, side, ratio }: Frame, palette: Palette, name: string, x: number, y: number, paint = painter): void {
  const shown = Math.max(side, Math.min(Math.round(side * 1.7), MIN_THING * ratio));
  const shift = Math.floor((shown - side) / 2);
  stamp(ctx, palette, name, paint, left + x * side - shift, top + y * side - shift, shown);
}

/** How a door stands: across a way from north to south, or down beside a way from west to east. */
export const turn = (scene: Scene, x: number, y: number): string =>
  scene.isWall(x - 1, y) && scene.isWall(x + 1, y) ? "" : ":down";

class Painter {
  constructor(
    readonly ctx: Context, readonly scene: Scene, readonly frame: Frame, readonly layers: Layers,
    readonly palette: Palette, readonly fog?: Fog,
  ) {}

  /** A part of the cell, in shares of its side. Edges fall on whole pixels. */
  #fill(x: number, y: number, part: readonly [number, number, number, number], colour: Rgb, opacity = 1): void {
    const { left, top, side } = this.frame;
    const at = (share: number): number => Math.round(share * side);
    this.ctx.fillStyle = css(colour, opacity);
    this.ctx.fillRect(left + x * side + at(part[0]), top + y * side + at(part[1]),
      at(part[0] + part[2]) - at(part[0]), at(part[1] + part[3]) - at(part[1]));
  }

  #sprite(name: string, x: number, y: number): void {
    const { left, top, side } = this.frame;
    drawSprite(this.ctx, this.palette, name, left + x * side, top + y * side, side);
  }

  /** The terrain of a cell, as the layers show it. */
  #terrain(x: number, y: number): number {
    const terrain = this.scene.terrainAt(x, y);
    if (this.layers.has("terrain")) return terrain;
    const passable = terrain === Terrain.ShallowWater || terrain === Terrain.Bridge || terrain === Terrain.Grass ||
      terrain === Terrain.Rubble;
    return passable ? Terrain.Floor : terrain;
  }

  ground(x: number, y: number, index: number): void {
    const { scene, palette, fog } = this;
    const { floor } = scene;
    const known = knownTerrain(floor, index, fog);
    if (known === Terrain.Wall) {
      if (!scene.isRock(x, y)) {
        this.#fill(x, y, WHOLE, palette.wallTop);
        if (!this.#isWall(x, y + 1)) this.#sprite("wall", x, y);
      }
      return;
    }
    if (known === Terrain.SecretDoor) {
      this.#fill(x, y, WHOLE, palette.wallTop);
      this.#sprite("secret", x, y);
      return;
    }
    const terrain = this.#terrain(x, y);
    this.#fill(x, y, WHOLE, this.#stone(terrain, x, y, index));
    if (this.frame.side >= MIN_DETAIL) {
      const above = scene.terrainAt(x, y - 1);
      const piece = this.layers.has("terrain") ? scene.pieces.get(index) : undefined;
      if (terrain >= Terrain.ShallowWater && !piece?.blocks) this.#sprite(`terrain:${terrain}`, x, y);
      if (piece) this.#sprite(piece.sprite, x, y);
      if (terrain === Terrain.Chasm && above !== Terrain.Chasm && above !== Terrain.Bridge) {
        this.#fill(x, y, [0, 0, 1, 0.45], mix(palette.terrain(Terrain.Floor), palette.ink, 130));
      }
      if (this.#isWall(x, y - 1)) this.#fill(x, y, [0, 0, 1, 0.3], palette.ink, palette.name === "dark" ? 0.32 : 0.16);
      if (this.#isWall(x - 1, y)) this.#fill(x, y, [0, 0, 0.2, 1], palette.ink, palette.name === "dark" ? 0.22 : 0.1);
    }
    if (this.layers.has("areas") && !fog && scene.behind[index] > 0) {
      this.#fill(x, y, WHOLE, lockColour(scene.behind[index]), AREA);
      if (x % NUMBERED === 0 && y % NUMBERED === 0) drawMark(this.ctx, this.frame, palette, `number:${scene.behind[index]}`, x, y);
    }
    if (terrain === Terrain.Door || terrain === Terrain.LockedDoor) {
      this.#sprite(`door${turn(scene, x, y)}`, x, y);
    }
  }

  /** Whether a wall stands there, as far as is known. */
  #isWall(x: number, y: number): boolean {
    const { scene, fog } = this;
    return scene.isWall(x, y) || (fog !== undefined && !fog.knows(y * scene.floor.width + x));
  }

  /** The ground of a cell, with a slight variation. */
  #stone(terrain: number, x: number, y: number, index: number): Rgb {
    const { palette, scene: { floor } } = this;
    const stone = stoneOf(palette, terrain, floor.rooms[floor.region[index] - 1], this.layers.has("rooms"));
    return mix(stone, palette.ink, palette.name === "dark" ? grain(x, y) * 2 : grain(x, y));
  }

  /** The form of a room's role, which its tint is not alone to tell. */
  role(x: number, y: number, index: number): void {
    const { palette, scene: { floor }, fog } = this;
    const role = floor.rooms[floor.region[index] - 1]?.role ?? 0;
    const isTinted = isRoleShown(x, y) && !this.scene.pieces.has(index) && palette.tint(role) && !natural(this.#terrain(x, y)) && knownTerrain(floor, index, fog) > Terrain.Wall;
    if (isTinted) drawMark(this.ctx, this.frame, palette, `tint:${role}`, x, y);
  }

  things(x: number, y: number, index: number): void {
    for (const sprite of spritesAt(this.scene, index, this.layers, turn(this.scene, x, y), isSmall(this.frame), this.fog)) {
      drawMark(this.ctx, this.frame, this.palette, sprite, x, y);
    }
  }

  /** The edges of a cell at which its room ends. */
  outline(x: number, y: number, index: number): void {
    const { floor } = this.scene;
    const id = floor.region[index];
    if (!id) return;
    const colour = roomColour(this.scene.colours[id - 1]);
    const shown = this.palette.name === "dark" ? colour : mix(colour, this.palette.ink, 90);
    const width = Math.max(0.14, 1 / this.frame.side);
    const differs = (dx: number, dy: number): boolean => {
      const inside = x + dx >= 0 && y + dy >= 0 && x + dx < floor.width && y + dy < floor.height;
      return !inside || floor.region[index + dy * floor.width + dx] !== id;
    };
    if (differs(0, -1)) this.#fill(x, y, [0, 0, 1, width], shown);
    if (differs(0, 1)) this.#fill(x, y, [0, 1 - width, 1, width], shown);
    if (differs(-1, 0)) this.#fill(x, y, [0, 0, width, 1], shown);
    if (differs(1, 0)) this.#fill(x, y, [1 - width, 0, width, 1], shown);
  }

  names(): void {
    this.#labels((height, measure) => placeLabels(this.scene, height, true, measure));
  }

  /** The name of the room that the floor is remembered by. */
  landmark(): void {
    const room = this.scene.floor.rooms[this.scene.floor.landmark - 1];
    if (!room?.name || (this.fog && !this.fog.knows(room.center.y * this.scene.floor.width + room.center.x))) return;
    this.#labels((height, measure) => [placeLandmark(this.scene, room, height, measure)]);
  }

  #labels(place: (height: number, measure: (text: string) => number) => Label[]): void {
    const { ctx, frame: { left, top, side, ratio }, palette } = this;
    const size = Math.max(11, Math.min(22, Math.round((side / ratio) * 0.8))) * ratio;
    ctx.font = `600 ${size}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const measure = (text: string): number => (ctx.measureText(text).width + size * 0.7) / side;
    for (const { room, text, x, y, width, height } of place((size * 1.44) / side, measure)) {
      ctx.fillStyle = css(palette.ink, 0.82);
      ctx.beginPath();
      ctx.roundRect(left + (x - width / 2) * side, top + (y - height / 2) * side, width * side, height * side, size * 0.3);
      ctx.fill();
      ctx.fillStyle = css(roomColour(this.scene.colours[room.id]));
      ctx.fillText(text, left + x * side, top + y * side + size * 0.05);
    }
  }
}

/** The shortest walk to the exit. */
export function drawPath(ctx: Context, { floor, path }: Scene, frame: Frame, palette: Palette): void {
  const { left, top, side } = frame;
  ctx.save();
  ctx.lineCap = ctx.lineJoin = "round";
  for (const [width, casing] of [[0.5, true], [0.28, false]] as const) {
    for (const { key, cells } of path) {
      ctx.strokeStyle = casing ? css(palette.ink, 0.55) : css(key ? lockColour(key) : palette.exitPath);
      ctx.lineWidth = Math.max(casing ? 3 : 1.5, width * side);
      ctx.beginPath();
      for (const cell of cells) {
        ctx.lineTo(left + ((cell % floor.width) + 0.5) * side, top + (Math.floor(cell / floor.width) + 0.5) * side);
      }
      ctx.stroke();
    }
  }
  ctx.restore();
  for (const { key, cells } of path) {
    const middle = cells[Math.floor(cells.length / 2)];
    if (key) drawMark(ctx, frame, palette, `number:${key}`, middle % floor.width, Math.floor(middle / floor.width));
  }
}

const WHOLE = [0, 0, 1, 1] as const;
