// Starts the page, and connects its controls.

import { element } from "./element";
import type { Spec } from "./generator";
import { announce, flash, showAlert } from "./notices";
import { Page } from "./page";
import { savePng } from "./png";
import { listenToTabs } from "./tabs";
import type { Move } from "./walk";
import { load } from "./wasm";

function listen(page: Page): void {
  listenToTabs();
  const click = (id: string, action: () => void): void => element(id).addEventListener("click", action);
  element("spec").addEventListener("submit", (event) => {
    event.preventDefault();
    page.submit();
  });
  element("kind").addEventListener("change", () => page.submit());
  click("previous", () => page.step(-1));
  click("next", () => page.step(1));
  click("random", () => {
    const [seed] = crypto.getRandomValues(new BigUint64Array(1));
    page.open({ ...page.specs[page.active], seed });
  });
  click("data", () => page.toggleMap());
  click("menu", () => {
    const isOpen = document.querySelector("header")?.classList.toggle("open");
    element("menu").setAttribute("aria-expanded", String(isOpen));
  });
  click("walk", () => {
    page.panels?.packs.showSheet(false);
    page.toggleWalk();
  });
  click("compare", () => {
    page.panels?.packs.showSheet(false);
    page.toggleCompare();
  });
  const zoom = (inwards: boolean): void => {
    if (page.panels?.packs.showSheet(false)) return;
    page.camera.zoom(page.views[page.active].canvas, page.scenes[page.active], inwards);
    page.moved();
  };
  click("zoom-in", () => zoom(true));
  click("zoom-out", () => zoom(false));
  click("fit", () => {
    page.panels?.packs.showSheet(false);
    page.camera.fit();
    page.moved();
  });
  click("share", () => share(page));
  click("png", () => savePng(page.scenes[page.active], page.layers, page.palette(page.scenes[page.active]), page.views[page.active].walk));
  click("theme", () => {
    const name = page.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", name);
    page.setTheme(name);
  });
  for (const button of element("pad").querySelectorAll("button")) {
    button.addEventListener("click", () => page.move([button.dataset.move as Move]));
  }
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    // The address holds what is shown, and no place on the page.
    event.preventDefault();
    element("stage").focus();
  });
}

async function share(page: Page): Promise<void> {
  page.flushLink();
  const pack = page.panels?.packs.name;
  const without = pack === undefined ? "" : `The pack ${pack} is not in it: save the pack and send ` +
    "the .floorpack file too. Without it the link shows a floor of the built-in pack.";
  try {
    await navigator.clipboard.writeText(location.href);
    if (without) showAlert(`The link is copied. ${without}`);
    else announce("The link is copied.");
    flash("share", "Copied");
  } catch {
    showAlert(`Copy this link: ${location.href} ${without}`.trim());
  }
}

try {
  const page = new Page(await load("floors.wasm"));
  listen(page);
  document.documentElement.dataset.ready = "true";
  performance.mark("interactive");
  page.loadPanels().then(() => (document.documentElement.dataset.complete = "true"), (error) => showAlert(`A part of the viewer did not load: ${error.message}. Reload the page.`));
  Object.assign(window, { floorViewer: { generate: (spec: Spec) => page.generator.floor(spec), version: page.generator.version, page } });
} catch (error) {
  element("alert").textContent = `The viewer did not start: ${(error as Error).message}`;
}

if ("serviceWorker" in navigator) {
  // Without it the page works, but not offline.
  navigator.serviceWorker.register("service-worker.js").catch(() => {});
}
