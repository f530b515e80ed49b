// Maps, print, layouts and lists of floors: web/tests/map.mjs URL [DIRECTORY FOR SCREENSHOTS]. See browser.mjs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browser, check, close, colours, drawn, fragment, open, PHONE, pixels, shots, text, violations } from "./browser.mjs";

const LANDSCAPE = { ...PHONE, viewport: { width: 844, height: 390 } };
const SIZES = { desktop: {}, phone: PHONE, landscape: LANDSCAPE };
/** A floor of each theme of the built-in pack. */
const THEMES = { crypt: 7, warren: 12, mire: 22, forge: 32, glacier: 42, archive: 52, abyss: 62 };

/** Where an element is, in CSS pixels. */
const box = (page, selector) => page.locator(selector).first().boundingBox();
const shot = async (page, name) => shots && (await page.screenshot({ path: `${shots}/${name}.png` }));
/** The first floor of tower 42 that meets a condition, as `42/24`. */
async function floorWhere(condition) {
  const page = await open();
  const found = await page.evaluate((condition) => {
    const { generator } = window.floorViewer.page;
    generator.setCondition(condition);
    const { matches } = generator.scan({ spec: { seed: 42n, number: 1, width: 100, height: 100, kind: 0 }, numbers: 300 }, 0n, 300);
    return matches[0]?.split("\t").slice(0, 2).join("/");
  }, condition);
  assert(found, `no floor where ${condition}`);
  await close(page);
  return found;
}
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

await check("in a walk the pad is beside the map, and its buttons stay where they are", async () => {
  for (const [name, options] of Object.entries(SIZES)) {
    const page = await open("#f=42/7&walk=", options);
    const { innerWidth: width, innerHeight: height } = await page.evaluate(() => ({ innerWidth, innerHeight }));
    const places = async () => JSON.stringify(await page.evaluate(() =>
      [...document.querySelectorAll("#pad button")].map((button) => (({ x, y, width }) => [x, y, width])(button.getBoundingClientRect()))));
    const before = await places();
    const news = new Set();
    for (const key of [..."sssswwwwnnnneeeeessssssssf"]) {
      await page.evaluate((key) => document.querySelector(`[data-move=${key}]`).click(), key);
      news.add(await text(page, "walked"));
    }
    assert(news.size > 3, `${name}: ${[...news]}`);
    assert.equal(await places(), before, `${name}: the buttons moved`);
    await drawn(page);
    const [map, pad] = [await box(page, ".view canvas"), await box(page, "#pad")];
    assert(!overlap(map, pad), `${name}: the pad lies over the map`);
    assert(pad.y >= 0 && pad.y + pad.height <= height + 1 && pad.x + pad.width <= width + 1, `${name}: the pad is not in sight`);
    const at = await page.evaluate(() => {
      const { page } = window.floorViewer;
      const [view] = page.views;
      const { left, top, side } = page.camera.frame(view.canvas, page.scenes[0]);
      const columns = page.scenes[0].floor.width;
      const cell = [(view.walk.at % columns) * side + left, Math.floor(view.walk.at / columns) * side + top];
      return { cell, side, size: [view.canvas.width, view.canvas.height] };
    });
    at.cell.forEach((place, axis) => assert(place >= 0 && place + at.side <= at.size[axis], `${name}: the walker is out of sight`));
    await shot(page, `walk-${name}`);
    await close(page);
  }
});

await check("a typed tower stays when the next floor is shown", async () => {
  const page = await open();
  await page.fill("#seed", "99");
  await page.click("#next");
  assert.match(await text(page, "about"), /^Floor 8 of tower 99:/);
  await page.fill("#seed", "0x1g");
  await page.click("#next");
  assert.match(await text(page, "alert"), /seed "0x1g": a tower is a word or a number, -2\^63 to 2\^64 - 1/);
  assert.match(await text(page, "about"), /^Floor 8 of tower 99:/);
  await page.fill("#seed", "100");
  await page.click("#compare");
  assert.equal(await page.inputValue("#seed"), "99", "another floor is shown");
  await close(page);
});

await check("a text names a tower", async () => {
  const page = await open();
  await page.fill("#seed", " my dungeon ");
  await page.keyboard.press("Enter");
  // FNV-1a of the text.
  assert.match(await text(page, "about"), /^Floor 7 of tower 16080315043033421665:/);
  assert.equal(await text(page, "named"), "“my dungeon” is tower 16080315043033421665.");
  await fragment(page, "f=16080315043033421665/7");
  await page.click("#next");
  assert(await page.isVisible("#named"));
  await page.click("#random");
  assert(await page.isHidden("#named"));
  await close(page);
  const { seeds } = JSON.parse(readFileSync(new URL("../../proto/vectors/manifest.json", import.meta.url), "utf8"));
  const linked = await open();
  for (const { text: name, seed } of seeds) {
    await linked.evaluate((hash) => (location.hash = hash), `#f=${encodeURIComponent(name)}/3`);
    if (seed === null) await linked.waitForFunction(() => document.querySelector("#alert p").textContent.includes("a tower is a word"));
    else await linked.waitForFunction((about) => document.querySelector("#about").textContent.startsWith(about), `Floor 3 of tower ${seed}:`);
  }
  await close(linked);
});

await check("Back leads to the floors that were shown before, and to the walk", async () => {
  const page = await open();
  await page.click("#next");
  await fragment(page, "f=42/8");
  await page.click("#walk");
  await page.focus(".view canvas");
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) await page.keyboard.press(key);
  const walked = (await text(page, "walked")).match(/^\d+ steps?/)[0];
  page.once("dialog", (dialog) => dialog.accept());
  await page.click("#next");
  await fragment(page, "f=42/9");
  await page.goBack();
  await page.waitForFunction(() => /^Floor 8 /.test(document.querySelector("#about").textContent));
  assert((await text(page, "walked")).startsWith(walked), "the walk goes on");
  await page.goBack();
  await page.waitForFunction(() => /^Floor 7 /.test(document.querySelector("#about").textContent));
  await page.goForward();
  await page.waitForFunction(() => /^Floor 8 /.test(document.querySelector("#about").textContent));
  await close(page);
});

await check("the next floor ends a walk only after a question", async () => {
  const page = await open("#f=42/7&walk=nesw");
  const asked = [];
  const answer = (accepts) => page.once("dialog", (dialog) => (asked.push(dialog.message()), accepts ? dialog.accept() : dialog.dismiss()));
  await page.focus(".view canvas");
  answer(false);
  await page.keyboard.press("n");
  assert.match(asked[0], /^This ends the walk after \d+ steps?\./);
  assert.match(await text(page, "about"), /^Floor 7 /);
  assert(await page.isVisible("#pad"));
  answer(true);
  await page.keyboard.press("n");
  assert.match(await text(page, "about"), /^Floor 8 /);
  assert(await page.isHidden("#pad"));
  // Without a step there is nothing to lose.
  await page.keyboard.press("w");
  await page.keyboard.press("n");
  assert.match(await text(page, "about"), /^Floor 9 /);
  assert.equal(asked.length, 2);
  await close(page);
});

await check("labels cover no key, lock or stairs, in saved pictures neither", async () => {
  for (const style of ["data", "map"]) {
    for (const spec of ["42/7", "42/24", "42/52"]) {
      const page = await open(`#f=${spec}&style=${style}&layers=terrain,locks,monsters,loot,traps`);
      /** The pixels of each thing, on the page and in the saved picture. */
      const things = async () => {
        const [download] = await Promise.all([page.waitForEvent("download"), page.click("#png")]);
        const file = readFileSync(await download.path()).toString("base64");
        return page.evaluate(async (file) => {
          const { page } = window.floorViewer;
          const { canvas } = page.views[0];
          const scene = page.scenes[0];
          const bytes = Uint8Array.from(atob(file), (byte) => byte.charCodeAt(0));
          const saved = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const copy = new OffscreenCanvas(saved.width, saved.height);
          copy.getContext("2d").drawImage(saved, 0, 0);
          const { floor } = scene;
          const keys = [...scene.things].filter(([, { layer }]) => layer === "locks").map(([index]) => index);
          const cells = [...keys, ...scene.locks.keys(), ...[floor.entry, floor.exit].map(({ x, y }) => y * floor.width + x)];
          return [[canvas, page.camera.frame(canvas, scene)], [copy, { left: 0, top: 0, side: 16 }]].map(([from, { left, top, side }]) =>
            cells.map((index) => {
              const [x, y] = [left + (index % floor.width) * side, top + Math.floor(index / floor.width) * side];
              return [...from.getContext("2d").getImageData(Math.round(x), Math.round(y), Math.floor(side), Math.floor(side)).data].join();
            }));
        }, file);
      };
      await drawn(page);
      const [without, before] = [await things(), await pixels(page)];
      await page.check("#layer-names");
      await drawn(page);
      assert.notEqual(await pixels(page), before, "labels are drawn");
      const labelled = await things();
      // The outline of a room is drawn below the things and may shine through beside them on data: then only what differs
      // in most of its pixels is covered.
      const isCovered = (one, other) => {
        const [a, b] = [one.split(","), other.split(",")];
        return a.filter((value, at) => value !== b[at]).length > a.length * 0.4;
      };
      without.forEach((cells, at) => cells.forEach((cell, thing) =>
        assert(!isCovered(cell, labelled[at][thing]), `${style} ${spec}: thing ${thing} of ${at ? "the saved picture" : "the page"}`)));
      await close(page);
    }
  }
});

await check("a floor is printed on one page, with its key, on A4 and on Letter", async () => {
  for (const spec of ["42/7", "42/24", "42/42", "42/10", "42/33@200x120", "42/35@512x512"]) {
    // The key of 240 rooms has pages of its own.
    const isLong = spec.endsWith("512");
    const page = await open(`#f=${spec}`);
    for (const format of ["A4", "Letter"]) {
      const pdf = await page.pdf({ format, preferCSSPageSize: false, printBackground: true });
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
      assert(isLong ? pages > 1 : pages === 1, `${spec} on ${format}: ${pages} pages`);
    }
    assert(await page.isHidden("#paper-view"), "the page is as before");
    // Nothing is wider than the paper, for which the browser would shrink all of it.
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 719, height: 980 });
    assert((await box(page, "#paper")).width > 715);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${spec}: too wide`);
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.click("#print");
    const cut = await page.evaluate(() => {
      const paper = document.querySelector("#paper").getBoundingClientRect();
      return [...document.querySelectorAll("#paper *")].filter((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return left < paper.left - 1 || right > paper.right + 1 || top < paper.top - 1 || bottom > paper.bottom + 1;
      }).map(({ textContent }) => textContent.slice(0, 60));
    });
    assert.deepEqual(cut, [], spec);
    const rooms = await page.evaluate(() => window.floorViewer.page.scenes[0].floor.rooms.length);
    const numbers = (await page.locator("#paper li").allTextContents()).flatMap((line) =>
      line.startsWith("Empty: ") ? line.slice(7).split(", ") : line.match(/^\d+(?=\. )/)?.[0] ?? []);
    assert.deepEqual(numbers.map(Number).sort((a, b) => a - b), Array.from({ length: rooms }, (_, at) => at + 1), `${spec}: every room is in the key`);
    await shot(page, `paper-${spec.replace(/\W/g, "-")}`);
    await close(page);
  }
});

await check("the key says what is in a room, and the players' map has no secrets", async () => {
  const page = await open(`#f=${await floorWhere("secrets >= 2 && locks >= 1")}`);
  await page.click("#print");
  const key = await page.locator("#paper ol").textContent();
  assert.match(key, /\d+\. Guard room: .*(asleep|on guard|on patrol|wandering)/);
  assert.match(key, /key 1/);
  assert.match(key, /lock 1 to \d+/);
  assert.match(key, /secret door to \d+/);
  /** Which part of the cell in the middle of each secret room has the colour of rock on the paper's map. */
  const rock = () => page.evaluate(() => {
    const { scenes: [scene] } = window.floorViewer.page;
    const canvas = document.querySelector("#paper canvas");
    const { left, top, right, bottom } = scene.bounds;
    const side = Math.min(canvas.width / (right - left + 5), canvas.height / (bottom - top + 5));
    const start = [Math.round((canvas.width - (right + left + 1) * side) / 2), Math.round((canvas.height - (bottom + top + 1) * side) / 2)];
    const secrets = scene.floor.connections.filter(({ secret }) => secret).flatMap(({ from, to }) => [from, to]);
    const rooms = scene.floor.rooms.filter(({ id, role }) => role === 10 && secrets.includes(id));
    const at = (x, y) => [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3).map((channel) => channel >> 3).join();
    const shares = [0.1, 0.3, 0.5, 0.7, 0.9];
    return rooms.map(({ center: { x, y } }) => shares.flatMap((right) => shares.map((down) =>
      at(start[0] + (x + right) * side, start[1] + (y + down) * side))).filter((colour) => colour === at(2, 2)).length / 25);
  });
  // The number of the room is in the cell.
  const master = await rock();
  assert(master.length > 0 && master.every((part) => part < 0.4), `${master}`);
  await shot(page, "paper-master");
  await page.check("input[value=players]");
  const players = await rock();
  // The rock beside other rooms is hatched.
  assert(players.every((part) => part > 0.7), `${players}`);
  assert.equal(await page.locator("#paper li").count(), 0);
  assert.doesNotMatch(await withoutHook(page), /room|lock|secret/);
  await shot(page, "paper-players");
  assert.deepEqual(await violations(page), []);
  await close(page);
});

/** The words of the paper, without the sentence that everyone reads on arrival, which may name a lock. */
async function withoutHook(page) {
  return (await page.locator("#paper").textContent()).replace(await page.locator("#hook").textContent(), "");
}

await check("in a walk the paper has what the walker knows, and the rest is asked for", async () => {
  const page = await open("#f=42/24&walk=");
  const ground = () => page.evaluate(() => {
    const canvas = document.querySelector("#paper canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const rock = [...data.slice(0, 3)].join();
    let count = 0;
    for (let at = 0; at < data.length; at += 400) count += [...data.slice(at, at + 3)].join() === rock ? 0 : 1;
    return count / (data.length / 400);
  });
  // By the keys of the browser too.
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const known = await ground();
  assert.equal(await page.locator("#paper li").count(), 0);
  assert.doesNotMatch(await withoutHook(page), /room|lock|secret/);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await page.click("#print");
  assert(await page.isChecked("input[value=walker]"));
  assert.equal(await ground(), known);
  await shot(page, "paper-walker");
  assert.deepEqual(await violations(page), []);
  await page.check("input[value=master]");
  const all = await ground();
  assert(known > 0.003 && all > 2 * known, `${known} and ${all}`);
  await page.click("#paper-close");
  await page.click("#walk");
  await page.click("#print");
  assert(await page.isHidden("input[value=walker]") && (await page.isChecked("input[value=master]")));
  await close(page);
});

await check("search and legend are in sight, and the map has the room that there is", async () => {
  const page = await open();
  assert((await box(page, "#tab-search")).y < 200);
  assert((await box(page, "#legend-title")).y < 620, `the legend begins at ${(await box(page, "#legend-title")).y}`);
  await page.click("#tab-search");
  const button = await box(page, "#search button[type=submit]");
  assert(button.y + button.height < 800, "the whole form is in sight");
  await close(page);
  const landscape = await open("", LANDSCAPE);
  const { width, height } = await box(landscape, ".view canvas");
  assert(height >= 320 && width >= 500, `${width}x${height} for the map`);
  await close(landscape);
  // A large floor fills the canvas in one of its directions.
  for (const style of ["data", "map"]) {
    const large = await open(`#f=42/35@512x512&style=${style}`);
    const part = await large.evaluate(() => {
      const { page } = window.floorViewer;
      const { canvas } = page.views[0];
      const { side } = page.camera.frame(canvas, page.scenes[0]);
      const { left, top, right, bottom } = page.scenes[0].bounds;
      return Math.max(((right - left + 1) * side) / canvas.width, ((bottom - top + 1) * side) / canvas.height);
    });
    assert(part > 0.95, `512x512 fills ${part}`);
    assert(await colours(large) > 30);
    await close(large);
  }
});

await check("on a phone the controls leave the screen to the map", async () => {
  const page = await open("", PHONE);
  const { height } = await box(page, "header");
  assert(height <= 0.15 * PHONE.viewport.height, `the controls are ${height} pixels high`);
  assert(await page.isHidden("#kind"));
  await page.tap("#menu");
  assert(await page.isVisible("#kind") && await page.isVisible("#print"));
  assert.equal(await page.getAttribute("#menu", "aria-expanded"), "true");
  await close(page);
});

await check("a card has the size that chats show", async () => {
  for (const [spec, options] of [["42/7", {}], ["42/50", {}], ["1/1@16x16", PHONE], ["42/35@512x512", {}]]) {
    const page = await open(`#f=${spec}`, options);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#card")]);
    const file = readFileSync(await download.path());
    assert.deepEqual([file.readUInt32BE(16), file.readUInt32BE(20)], [1200, 630]);
    if (shots) await download.saveAs(`${shots}/card-${spec.replace(/\W/g, "-")}.png`);
    await close(page);
  }
});

await check("of a group in small cells there is one mark, and a boss is drawn alone", async () => {
  const page = await open("#f=42/10:boss");
  const { bosses, groups } = await page.evaluate(() => {
    const [{ things, groups }] = window.floorViewer.page.scenes;
    const bosses = [...things].filter(([, { sprite }]) => sprite.startsWith("boss:"));
    return { bosses: bosses.map(([index, { group }]) => [index, groups.get(group)?.includes(index) ?? false]), groups: groups.size };
  });
  assert.equal(bosses.length, 1);
  assert.equal(bosses[0][1], false);
  assert(groups > 5);
  await close(page);
});

await check("the first floor has a loop", async () => {
  const page = await open();
  assert(Number((await text(page, "facts")).match(/Loops(\d+)/)[1]) >= 1);
  await close(page);
});

await check("a map in ink on paper shows each theme", async () => {
  const papers = new Map();
  for (const [theme, number] of Object.entries(THEMES)) {
    const page = await open(`#f=42/${number}&style=data`);
    const data = await pixels(page);
    await page.click("#data");
    await drawn(page);
    assert.notEqual(await pixels(page), data);
    await page.waitForFunction(() => !location.hash.includes("style"));
    assert(await page.isDisabled("#layer-areas") && await page.isEnabled("#layer-path"));
    const { floor } = await page.evaluate(() => ({ floor: window.floorViewer.page.scenes[0].floor.name.text }));
    assert.equal(await page.textContent(".caption strong"), floor, "its name is the title");
    assert.match(await text(page, "facts"), new RegExp(`^Theme${theme}`));
    papers.set(theme, await page.evaluate(() => [...document.querySelector(".view canvas").getContext("2d").getImageData(2, 2, 1, 1).data].join()));
    await close(page);
    for (const [name, options] of Object.entries(SIZES)) {
      const sized = await open(`#f=42/${number}&style=map`, options);
      await drawn(sized);
      await shot(sized, `map-${theme}-${name}`);
      await close(sized);
    }
  }
  assert.equal(new Set(papers.values()).size, papers.size, `${[...papers]}`);
});

await check("nothing is told by colour alone", async () => {
  const spec = await floorWhere("sleepers > 0 && guards > 0 && wanderers > 0 && patrollers > 0 && locks >= 2 && traps > 0");
  for (const style of ["data", "map"]) {
    const page = await open(`#f=${spec}&style=${style}`);
    /** For each line of the legend the pixels of its sample that are not its ground, without their colours. */
    const forms = await page.evaluate(() => [...document.querySelectorAll("#legend li")].map((item) => {
      const canvas = item.querySelector("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const light = (at) => data[at] * 0.3 + data[at + 1] * 0.59 + data[at + 2] * 0.11;
      const form = [];
      for (let at = 0; at < data.length; at += 4) form.push(Math.abs(light(at) - light(0)) > 24 ? 1 : 0);
      return [item.textContent, form.join("")];
    }));
    const of = (names) => forms.filter(([name]) => names.test(name)).map(([, form]) => form);
    for (const names of [/^it is (asleep|on guard|on patrol|wandering)/, /\b(gold|bread|potion|scroll|gem|blade)s?\b/, /^(lock|key of lock) 1$/, /^stairs/,
      /^\d+ (entry|exit|treasure|key|shrine|shop|boss|vault|secret) rooms?$/]) {
      const found = of(names);
      assert(found.length >= 2, `${names}: ${forms.map(([name]) => name)}`);
      assert.equal(new Set(found).size, found.length, `${style}: two samples of ${names} have the same form`);
    }
    const locks = await page.evaluate(() => [...document.querySelectorAll("#legend li")].filter((item) => /^lock \d$/.test(item.textContent)).map((item) => {
      const canvas = item.querySelector("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return [...data].filter((_, at) => at % 4 === 0).map((_, at) => (data[at * 4] + data[at * 4 + 1] + data[at * 4 + 2] < 120 ? 1 : 0)).join("");
    }));
    assert(locks.length >= 2 && locks[0] !== locks[1], "the locks have digits");
    await close(page);
  }
});

await check("the tower is a strip of 20 floors", async () => {
  const page = await open("#f=42/27");
  await page.click("#floors");
  await page.waitForFunction(() => [...document.querySelectorAll("#strip button")].filter((tile) => tile.title).length === 20);
  const tiles = await page.evaluate(() => [...document.querySelectorAll("#strip canvas")].map((canvas) => canvas.toDataURL()));
  assert.equal(new Set(tiles).size, 20);
  assert.equal(await page.textContent("#strip [aria-current]"), "27");
  await page.click("#strip li:nth-child(3) button");
  assert.match(await text(page, "about"), /^Floor 23 /);
  assert.equal(await page.textContent("#strip [aria-current]"), "23");
  await shot(page, "strip");
  assert.deepEqual(await violations(page), []);
  await close(page);
});

await check("favourites and history stay in the browser", async () => {
  const page = await open("#f=42/27");
  await page.click("#favourite");
  await page.click("#next");
  await page.click("#next");
  await fragment(page, "f=42/29");
  await page.reload();
  await page.waitForSelector("html[data-complete]");
  await page.click("#tab-saved");
  const names = (list) => page.locator(`#${list} li`).allTextContents();
  assert.deepEqual(await names("favourites"), ["42/27"]);
  assert.deepEqual(await names("history"), ["42/29", "42/28", "42/27"]);
  await page.waitForFunction(() => [...document.querySelectorAll("#panel-saved .tile")].every((tile) => tile.title));
  assert.deepEqual(await violations(page), []);
  await page.click("#favourites button");
  assert.match(await text(page, "about"), /^Floor 27 /);
  await page.click("#forget");
  assert.deepEqual(await names("history"), ["42/27"], "the floor that is shown");
  // What is no floor is left out.
  await page.evaluate(() => localStorage.setItem("favourites", "42/1\n<img>\n42/0\n42/2:maze"));
  await page.reload();
  await page.waitForSelector("html[data-complete]");
  await page.click("#tab-saved");
  assert.deepEqual(await names("favourites"), ["42/1", "42/2:maze"]);
  await close(page);
});

await check("a form writes the condition, and matches have pictures", async () => {
  const page = await open();
  await page.click("#tab-search");
  await page.selectOption("#conditions select >> nth=0", "cavern");
  await page.selectOption("#conditions select >> nth=1", "mire");
  await page.getByLabel("Loops, at least").fill("4");
  assert.equal(await page.inputValue("#where"), "kind == cavern && theme == mire && loops >= 4");
  // The floors of the mire.
  await page.fill("#numbers", "21-30");
  await page.fill("#limit", "3");
  await page.click("#search button[type=submit]");
  await page.waitForFunction(() => [...document.querySelectorAll("#matches button")].filter((tile) => tile.title).length === 3);
  assert((await page.locator("#matches button").evaluateAll((tiles) => tiles.every(({ title }) => /cavern, mire$/.test(title)))));
  await shot(page, "search");
  assert.deepEqual(await violations(page), []);
  await page.fill("#where", "rooms > 3");
  assert.equal(await page.getByLabel("Loops, at least").inputValue(), "", "a condition that was written by hand");
  await close(page);
});

await check("tabs answer the arrow keys", async () => {
  const page = await open();
  await page.focus("#tab-floor");
  await page.keyboard.press("ArrowRight");
  assert(await page.isVisible("#panel-search") && await page.isHidden("#panel-floor"));
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  assert(await page.isVisible("#panel-keys"));
  assert.deepEqual(await violations(page), []);
  await close(page);
});

await browser.close();
