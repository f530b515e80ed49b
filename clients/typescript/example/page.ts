// The script of page.html: draws a floor. npx esbuild example/page.ts --bundle --format=esm --outfile=example/page.js
import { connect } from "../src/index.js"; // in a page of yours: "@floorserver/client"

const CELL = 6;
// By the number of the terrain. Unknown ones are black.
const COLORS = ["#000", "#3b3b46", "#b9a88a", "#8a5a2b", "#c03030", "#6a4a8a", "#fff", "#30c030", "#7fb4d8", "#3060a0",
  "#e06020", "#101018", "#9a7a50", "#5a9a4a", "#8a8278", "#55555f"];

const canvas = document.querySelector("canvas") as HTMLCanvasElement;
const result = document.getElementById("result") as HTMLElement;
const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:50051";
const client = connect(server, { protocol: "connect", get: true });
try {
  const { floor, served } = await client.get({ seed: 42, number: 7 });
  canvas.width = floor.width * CELL;
  canvas.height = floor.height * CELL;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const square = (x: number, y: number, color: string) => {
    context.fillStyle = color;
    context.fillRect(x * CELL, y * CELL, CELL, CELL);
  };
  floor.terrain.forEach((terrain, i) => square(i % floor.width, Math.floor(i / floor.width), COLORS[terrain] ?? "#000"));
  for (const { at } of floor.spawns) square(at?.x ?? 0, at?.y ?? 0, "#d02060");
  result.textContent = `${floor.message.rooms.length} rooms, ${floor.spawns.length} monsters, served by ${served.by}`;
} catch (error) {
  result.textContent = String(error);
}
