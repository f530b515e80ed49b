// Prints how many floors of 100x100 cells one core makes: npm run build && npm run bench
import { loadGenerator } from "@floorserver/floor-gen";

const FLOORS = 2000;
const ROUNDS = 7;

const generator = await loadGenerator();
for (const name of ["encode", "generate"]) {
  const rates = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const started = process.cpuUsage();
    for (let number = 1; number <= FLOORS; number++) generator[name]({ seed: 42n, number });
    const { user, system } = process.cpuUsage(started);
    rates.push(FLOORS / ((user + system) / 1e6));
  }
  // Without the first round, in which the engine optimises.
  const sorted = rates.slice(1).sort((a, b) => a - b).map(Math.round);
  const [least, median, most] = [sorted[0], sorted[ROUNDS >> 1], sorted.at(-1)];
  console.log(`${name.padEnd(9)} ${median} floors a second of CPU time (${least} to ${most})`);
}
