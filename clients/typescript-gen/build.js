#!/usr/bin/env node
// Builds dist/: the modules, their types and the WebAssembly module. That module and the decoder are the viewer's, from
// web/; unlike in the viewer, the module reads authored floors, so cargo builds it, for the target
// wasm32-unknown-unknown. Where web/ is not, as in a copy of this folder alone, a dist/ that was built stays as it is.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

/** What a page downloads for the module, in bytes. */
const MAX_COMPRESSED = 600 * 1024;

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
if (!existsSync("../../web/src/generator.ts")) {
  if (!existsSync("dist/floors.wasm")) throw new Error("dist/ is not built: build it in the repository, with cargo");
  console.error("dist/ stays as it is: it is built in the repository");
  process.exit();
}
rmSync("dist", { recursive: true, force: true });
rmSync("build", { recursive: true, force: true });
await build({
  entryPoints: ["src/index.ts", "src/node.ts"], bundle: true, charset: "utf8", format: "esm", outdir: "dist",
  platform: "neutral", external: ["node:*"], target: "es2022",
});
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
for (const name of ["index", "floor-gen"]) {
  copyFileSync(`build/types/clients/typescript-gen/src/${name}.d.ts`, `dist/${name}.d.ts`);
}
execFileSync("../../web/build", ["--generator", "dist/floors.wasm"], { stdio: "inherit" });
const compressed = gzipSync(readFileSync("dist/floors.wasm"), { level: 9 }).length;
if (compressed > MAX_COMPRESSED) {
  throw new Error(`floors.wasm has ${compressed} bytes compressed, more than ${MAX_COMPRESSED}`);
}
