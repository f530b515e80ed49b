// Exports from the viewer against what floorctl writes: web/tests/exports.mjs URL [DIRECTORY FOR SCREENSHOTS]. FLOORCTL is the
// program. See browser.mjs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { browser, check, close, fragment, open, PHONE, shots, text, violations } from "./browser.mjs";

const scratch = mkdtempSync(join(tmpdir(), "exports-"));

/** The files that floorctl writes, by name. */
function written(...words) {
  const directory = mkdtempSync(join(scratch, "floorctl-"));
  // No server answers there.
  const env = { ...process.env, FLOORCTL_SERVER: "http://127.0.0.1:1" };
  const output = words[0] === "render" ? ["--png", join(directory, "floor.png")] : ["--output", directory];
  execFileSync(process.env.FLOORCTL, [...words, "--offline", ...output], { env, stdio: "pipe" });
  return new Map(readdirSync(directory).sort().map((name) => [name, readFileSync(join(directory, name))]));
}

/** The files that the dialog saves with these values in its fields, by name. */
async function exported(page, values) {
  await page.click("#export");
  for (const [name, value] of Object.entries({ style: "data", scale: "", players: false, ...values })) {
    const field = page.locator(`#export-form [name=${name}]`);
    if (await field.isDisabled()) continue;
    if (typeof value === "boolean") await field.setChecked(value);
    else if (name === "scale") await field.fill(value);
    else await field.selectOption(value);
  }
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export-form [type=submit]")]);
  const content = readFileSync(await download.path());
  const name = download.suggestedFilename();
  assert(await page.isHidden("#export-view"));
  if (!name.endsWith(".zip")) return new Map([[name, content]]);
  const files = Object.entries(unzipSync(content)).sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(files.map(([name, bytes]) => [name, Buffer.from(bytes)]));
}

function assertSame(ours, theirs, what) {
  assert.deepEqual([...ours.keys()], [...theirs.keys()], what);
  for (const [name, bytes] of ours) {
    assert(bytes.length > 0 && bytes.equals(theirs.get(name)), `${what}: ${name} differs (${bytes.length} and ${theirs.get(name).length} bytes)`);
  }
}

const FLOORS = ["42/7", "42/24", "7/3:maze@48x40"];

for (const to of ["tiled", "ldtk", "json"]) {
  await check(`exports for ${to} are those of floorctl`, async () => {
    for (const spec of FLOORS) {
      const page = await open(`#f=${spec}`);
      const ours = await exported(page, { format: to });
      assert.equal(ours.size > 1, to !== "json");
      assertSame(ours, written("export", spec, "--to", to), `${spec} for ${to}`);
      await close(page);
    }
  });
}

for (const to of ["uvtt", "foundry"]) {
  await check(`exports for ${to} are those of floorctl, with their pictures`, async () => {
    for (const [at, spec] of FLOORS.entries()) {
      const [style, scale] = [["data", ""], ["map", "24"], ["map", ""]][at];
      const page = await open(`#f=${spec}`);
      const ours = await exported(page, { format: to, style, scale });
      const options = ["--style", style, ...(scale ? ["--scale", scale] : [])];
      assertSame(ours, written("export", spec, "--to", to, ...options), `${spec} for ${to}, ${style}`);
      await close(page);
    }
  });
}

await check("pictures are those of floorctl", async () => {
  for (const spec of FLOORS) {
    const page = await open(`#f=${spec}`);
    for (const [style, players, scale] of [["data", false, ""], ["data", true, "20"], ["map", false, "16"], ["map", true, ""]]) {
      const ours = await exported(page, { format: "png", style, players, scale });
      const rooms = style === "map" && !players ? ["--rooms"] : [];
      const options = ["--style", style, ...rooms, ...(players ? ["--players"] : []), ...(scale ? ["--scale", scale] : [])];
      assertSame(new Map([["floor.png", [...ours.values()][0]]]), written("render", spec, ...options), `${spec}, ${options}`);
    }
    await close(page);
  }
});

await check("floors of an open pack are exported in its looks", async () => {
  const file = join(scratch, "library.floorpack");
  execFileSync(process.env.FLOORCTL, ["pack", "build", "packs/drowned-library", "--output", file], { stdio: "pipe" });
  const page = await open();
  await page.click("#pack");
  await page.setInputFiles("#pack-file-input", file);
  await page.click("#sheet li:nth-child(9) button");
  const spec = (await fragment(page, "f=42/9@")).match(/42\/9@\d+x\d+/)[0];
  const ours = await exported(page, { format: "foundry", style: "map" });
  assertSame(ours, written("export", spec, "--pack", file, "--to", "foundry", "--style", "map"), `${spec} of a pack`);
  await close(page);
});

await check("the module is loaded when a floor is exported, and not before", async () => {
  const page = await open("#f=42/7");
  const loaded = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.reload();
  await page.waitForSelector("html[data-complete]");
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.click("#export");
  const kept = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => url);
  });
  assert(kept.length > 5 && ![...kept, ...loaded].some((path) => path.endsWith("export.wasm")), `${kept} ${loaded}`);
  await page.click("#export-close");
  await exported(page, { format: "json" });
  await close(page);
});

await check("the dialog needs no pointer, and says what is wrong", async () => {
  for (const [name, options] of Object.entries({ desktop: {}, phone: PHONE })) {
    const page = await open("#f=42/35@512x512", options);
    if (options === PHONE) {
      await page.focus("#menu");
      await page.keyboard.press("Enter");
    }
    await page.focus("#export");
    await page.keyboard.press("Enter");
    assert.deepEqual(await violations(page), []);
    if (shots) await page.screenshot({ path: `${shots}/export-${name}.png` });
    await page.fill("#export-form [name=scale]", "1000");
    await page.keyboard.press("Enter");
    assert.equal(await text(page, "export-problem"), "A cell has 2 to 256 pixels, and not 1000.");
    await page.fill("#export-form [name=scale]", "64");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /32768x32768 pixels is too large; lower the scale/.test(document.querySelector("#export-problem").textContent));
    await page.selectOption("#export-form [name=format]", "tiled");
    assert(await page.isDisabled("#export-form [name=scale]"));
    await page.keyboard.press("Escape");
    // The browser closes it after the key, not with it.
    await page.waitForSelector("#export-view", { state: "hidden" });
    assert.equal(await page.evaluate(() => document.activeElement.id), "export");
    await close(page);
  }
});

rmSync(scratch, { recursive: true });
await browser.close();
