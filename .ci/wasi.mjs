// Runs a program of the target wasm32-wasip1: node .ci/wasi.mjs PROGRAM [ARGUMENTS].
import { readFileSync } from "node:fs";
import process from "node:process";
import { WASI } from "node:wasi";

const [, , program, ...args] = process.argv;
const wasi = new WASI({ version: "preview1", args: [program, ...args], env: process.env, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
process.exit(wasi.start(instance));
