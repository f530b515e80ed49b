// Climbs the first floor of the tower of the day: web/tests/climb.mjs URL [DIRECTORY FOR SCREENSHOTS]. See browser.mjs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browser, check, close, drawn, errors, fragment, open, PHONE, shots, text, violations } from "./browser.mjs";

const SIZES = { desktop: {}, phone: PHONE, landscape: { ...PHONE, viewport: { width: 844, height: 390 } } };
const KEYS = { n: "ArrowUp", w: "ArrowLeft", e: "ArrowRight", s: "ArrowDown", f: "f", d: "d" };
/** Towers to try after that of the day: `plan` survives the first floor of some seven in eight. */
const TOWERS = 8;
const shot = async (page, name) => shots && (await page.screenshot({ path: `${shots}/climb-${name}.png` }));

/** A page with a climb, of the tower of the day unless another is named. */
async function begin(options, tower) {
  const page = await open("", options);
  if (tower) {
    const body = Buffer.from([10, tower.length, ...Buffer.from(tower)]);
    await page.route("**/GetDaily", (route) => route.fulfill({ contentType: "application/proto", body }));
  }
  await page.evaluate(() => (location.hash = "#daily"));
  await page.waitForSelector("body.climbing");
  await drawn(page);
  return page;
}

/** The moves to the stairs of the page's floor: the hero drinks when weak, strikes a monster beside, else goes the
 * shortest way. Each try waits a turn longer at first, so that other rolls fall. Undefined if the hero dies in each. */
const plan = (page) => page.evaluate(async () => {
  const [{ walk }] = window.floorViewer.page.views;
  const { floor } = walk.scene;
  const module = await WebAssembly.compileStreaming(fetch("climb.wasm"));
  const message = Uint8Array.from(atob(localStorage.getItem("climb-floor")), (char) => char.charCodeAt(0));
  const revealed = { message, floor: floor.bytes, receipt: { climb: { tower: floor.tower } } };
  const beside = [["n", -floor.width], ["w", -1], ["e", 1], ["s", floor.width]];
  for (let wait = 0; wait < 20; wait++) {
    const climb = await walk.constructor.begin(module, revealed, "f".repeat(wait), () => {});
    const cells = climb.scene.path.flatMap(({ cells }, part) => (part ? cells.slice(1) : cells));
    for (let passed = 0; !climb.end && climb.steps < 2000;) {
      const [health, potions] = [/(\d+) of/, /(\d+) potion/].map((count) => Number(climb.status.match(count)[1]));
      passed = cells.indexOf(climb.at, passed);
      const foe = beside.find(([, step]) => climb.scene.things.get(climb.at + step)?.layer === "monsters");
      const next = beside.find(([, step]) => climb.at + step === cells[passed + 1]);
      climb.move(health < 15 && potions ? "d" : (foe ?? next)[0]);
    }
    if (climb.isAtExit) return climb.acts;
  }
  return undefined;
});

/** Whether the hero dies who walks on without a fight, and then waits. */
const walkToDeath = (page) => page.evaluate(() => {
  const { page } = window.floorViewer;
  const [{ walk }] = page.views;
  for (const cell of walk.scene.path[0].cells.slice(0, -1)) page.move(walk.wayTo(cell) ?? []);
  while (!walk.end && walk.steps < 800) page.move(["f"]);
  return walk.end === 2;
});

/** A page with a climb of the first tower for which `find` finds something, and that. */
async function beginWhere(options, find) {
  for (let at = 0; at <= TOWERS; at++) {
    const page = await begin(options, at && `tower-${at}`);
    const found = await find(page);
    if (found) return { page, found };
    await close(page);
  }
  return assert.fail(`none of ${TOWERS + 1} towers`);
}

/** Presses the keys of moves, and checks that no monster is shown that the hero does not see. */
async function press(page, moves) {
  let unseen = 0;
  for (const move of moves) {
    await page.keyboard.press(KEYS[move]);
    unseen += await page.evaluate(() => {
      const { views: [{ walk }], scenes: [{ things }] } = window.floorViewer.page;
      return [...things].filter(([index, { layer }]) => layer === "monsters" && !walk.sees(index)).length;
    });
  }
  assert.equal(unseen, 0);
}

await check("a floor of the tower of the day is climbed, and the receipt is saved", async () => {
  for (const [name, options] of Object.entries(SIZES)) {
    const { page, found: moves } = await beginWhere(options, plan);
    assert.match(await text(page, "about"), /^Floor 1 of tower [-0-9a-z]+: /);
    assert.match(await text(page, "walked"), /^Floor 1, 0 turns: 40 of 40 health, 1 potion, 0 gold, .*, no keys\. /);
    assert.match(await text(page, "server"), /^A floor of a sealed tower/);
    assert.match(await text(page, "facts"), /Rooms seen\d/, "the rest is in the fog");
    assert.equal(await fragment(page, "daily"), "#daily");
    await shot(page, `${name}-begin`);
    await press(page, moves.slice(0, -20));
    await drawn(page);
    await shot(page, `${name}-fight`);
    await press(page, moves.slice(-20));
    await page.waitForSelector("#receipt-view[open]");
    await shot(page, `${name}-receipt`);
    assert.equal(await text(page, "receipt-title"), "Floor 1 is climbed");
    assert.equal(await text(page, "receipt-words"), "Verified by the server.");
    assert.match(await text(page, "receipt-facts"), /^Tower[-0-9a-z]+Reached floor2Turns\d+Time\d+:\d\d$/);
    assert.deepEqual(await violations(page), []);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#receipt-save")]);
    assert.match(download.suggestedFilename(), /^climb-.*-2\.json$/);
    const receipt = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.deepEqual(Object.keys(receipt), ["climb", "signature", "key"]);
    assert.equal(Buffer.from(receipt.signature, "base64").length, 64);
    await page.click("#receipt-next");
    await page.waitForFunction(() => /^Floor 2, /.test(document.querySelector("#walked").textContent));
    await page.keyboard.press("f");
    await drawn(page);
    await shot(page, `${name}-next`);
    const status = await text(page, "walked");
    assert.match(status, /^Floor 2, \d+ turns: .* You find /);
    // A reload goes on where the climb was.
    await page.reload();
    await page.waitForSelector("body.climbing");
    assert.equal(`${await text(page, "walked")}`.trim(), status.match(/^.*keys\./)[0]);
    await close(page);
  }
});

await check("a submit that fails is told, and sent again", async () => {
  const { page, found: moves } = await beginWhere({}, plan);
  await page.route("**/SubmitFloor", (route) => route.abort());
  await press(page, moves);
  await page.waitForSelector("#receipt-view[open]");
  assert.equal(await text(page, "receipt-title"), "Floor 1 is not verified");
  assert.equal(await text(page, "receipt-words"), "the server cannot be reached. Your acts are kept.");
  assert(await page.isHidden("#receipt-facts"));
  await page.keyboard.press("Escape");
  await page.unroute("**/SubmitFloor");
  // On the stairs, Enter takes them.
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#receipt-title").textContent === "Floor 1 is climbed");
  errors.splice(0, errors.length, ...errors.filter((error) => !/ERR_FAILED/.test(error)));
  // Acts that lead nowhere are refused in words.
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => /^Floor 2, /.test(document.querySelector("#walked").textContent));
  await page.evaluate(() => {
    const { walk } = window.floorViewer.page.views[0];
    [walk.acts, walk.end] = ["f", 1];
    walk.descend();
  });
  await page.waitForSelector("#receipt-view[open]");
  assert.match(await text(page, "receipt-words"), /after 1 acts the hero is at .* Your acts are kept\.$/);
  errors.splice(0, errors.length, ...errors.filter((error) => !/status of 400/.test(error)));
  await close(page);
});

await check("a death ends the climb, which can begin anew", async () => {
  const { page } = await beginWhere({}, walkToDeath);
  assert.equal(await text(page, "receipt-title"), "You died on floor 1");
  assert(await page.isHidden("#receipt-save"), "nothing is climbed");
  assert(await page.isHidden("#receipt-next"));
  await page.click("#receipt-anew");
  await page.waitForFunction(() => /^Floor 1, 0 turns/.test(document.querySelector("#walked").textContent));
  await close(page);
});

await check("a climb is put aside, and the floor from before is shown whole", async () => {
  const page = await open("#f=42/7");
  await page.click("#daily");
  await page.waitForSelector("body.climbing");
  await page.keyboard.press("f");
  const status = await text(page, "walked");
  assert.match(status, /^Floor 1, 1 turn: /);
  await page.keyboard.press("c");
  assert.equal(await page.locator(".view").count(), 2);
  assert.match(await text(page, "about"), /^Floor 8 of tower 42/);
  assert(await page.isHidden("#pad"));
  await page.click("#daily");
  await page.waitForSelector("body.climbing");
  assert.equal(await page.locator(".view").count(), 1);
  assert(status.startsWith((await text(page, "walked")).trim()), "the climb goes on");
  await page.keyboard.press("w");
  assert.match(await text(page, "about"), /^Floor 8 of tower 42/);
  assert.match(await text(page, "facts"), /Loops\d/, "the whole floor is shown");
  await page.waitForFunction(() => location.hash === "#f=42/8");
  await close(page);
});

await browser.close();
