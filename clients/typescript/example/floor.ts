// Prints a floor: npx tsc && node build/example/floor.js [SERVER]
import { v1 } from "../src/index.js";
import { connect } from "../src/node.js";

const client = connect(process.argv[2] ?? "http://127.0.0.1:50051");
const { floor, served } = await client.get({ seed: 42n, number: 7 });
console.log(floor.name);
const { x, y } = floor.exit;
console.log(floor.message.rooms.length, "rooms, exit at", x, y, v1.Terrain[floor.terrainAt(x, y)], "served by", served.by);
