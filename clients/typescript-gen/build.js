#!/usr/bin/env node
// Builds dist/: the modules, their types and the WebAssembly module. That module and the decoder are the viewer's, from
// web/: after a change of the generator run web/build first.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
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
copyFileSync("../../web/dist/floors.wasm", "dist/floors.wasm");
