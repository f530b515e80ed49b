// The script of a page that .ci/browser opens. It calls the server that the page's address names over Connect and writes
// what it got into the element `result`.
import { connect, violations } from "../src/index.js";

const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:50051";
// Only a server that asks for tokens reads the token.
const client = connect(server, { protocol: "connect", token: "x" });

async function results(): Promise<unknown> {
  const { floor } = await client.get({ seed: 42n, number: 7 });
  const { served } = await client.get({ seed: 42n, number: 7 }, { trace: true });
  const streamed: number[] = [];
  for await (const next of client.stream({ seed: 42n, number: 5 }, 40, { timeoutMs: 10_000 })) {
    streamed.push(next.spec.number);
  }
  const refused = await client.get({ width: 15 }).catch(violations);
  return { hash: floor.message.contentHash.toString(16), rooms: floor.message.rooms.length, served, streamed, refused };
}

const shown = await results().catch(String);
(document.getElementById("result") as HTMLElement).textContent = JSON.stringify(shown);
