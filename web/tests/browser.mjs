// What the tests of the viewer share: a real Chromium, and pages of the viewer in it. Prints a line for each check and ends
// with the first that fails. The arguments: URL [DIRECTORY FOR SCREENSHOTS].

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const [url, shots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const PHONE = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
/** Errors of every page: uncaught exceptions, failed loads, violations of the content security policy. */
export const errors = [];

export async function open(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "dark", ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(`${url}/${hash}`);
  await page.waitForSelector("html[data-complete]");
  return page;
}

export async function close(page) {
  assert.deepEqual(errors, []);
  await page.context().close();
}

export async function check(name, run) {
  const started = performance.now();
  await run();
  console.log(`${name} (${Math.round(performance.now() - started)} ms)`);
}

export const text = (page, id) => page.textContent(`#${id}`);
export const pixels = (page, view = 0) =>
  page.evaluate((at) => document.querySelectorAll(".view canvas:not(.marks)")[at].toDataURL(), view);
/** The fragment, once the page has written it. */
export async function fragment(page, part) {
  await page.waitForFunction((part) => decodeURIComponent(location.hash).includes(part), part);
  return page.evaluate(() => location.hash);
}
/** How many colours the first floor is drawn in. */
export const colours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".view canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
/** Waits until the drawing of the last change is on the screen. */
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What axe finds wrong with a page. */
export async function violations(page) {
  // A policy without unsafe-eval does not apply to the test itself.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
}
