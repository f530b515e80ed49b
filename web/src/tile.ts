// A small picture of a floor on a button that opens it.

import { decode, KINDS, plain } from "./floor";
import type { Generator, Spec } from "./generator";
import { formatSpec } from "./link";
import { type Mode, paletteOf } from "./palette";
import { Scene } from "./scene";
import { paint } from "./thumbnail";

/** The page, as far as tiles need it. */
export interface Host {
  readonly generator: Generator;
  readonly mode: Mode;
  open(spec: Spec): boolean;
}

/** Tiles that wait to be painted: one a task, so that the page answers in between. */
const waiting: (() => void)[] = [];

function later(run: () => void): void {
  waiting.push(run);
  if (waiting.length === 1) setTimeout(next);
}

function next(): void {
  try {
    waiting[0]();
  } finally {
    waiting.shift();
    if (waiting.length) setTimeout(next);
  }
}

/** A tile of a floor, which is painted a little later, unless it is not on the page any more. */
export function tile(host: Host, spec: Spec, side: number, caption: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tile";
  button.dataset.floor = formatSpec(spec);
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  const text = Object.assign(document.createElement("span"), { textContent: caption });
  button.append(canvas, text);
  button.addEventListener("click", () => host.open(spec));
  later(() => {
    if (!button.isConnected) return;
    try {
      show(host, spec, side, button, canvas);
    } catch (error) {
      button.disabled = true;
      button.title = (error as Error).message;
    }
  });
  return button;
}

function show(host: Host, spec: Spec, side: number, button: HTMLElement, canvas: HTMLCanvasElement): void {
  const floor = decode(host.generator.floor(spec));
  const cell = Math.min(4, Math.max(1, Math.ceil((side * devicePixelRatio) / Math.max(floor.width, floor.height))));
  const { width, height, data } = paint(new Scene(floor), paletteOf(host.mode, host.generator.look(floor.theme)), cell);
  Object.assign(canvas, { width, height });
  canvas.getContext("2d")?.putImageData(new ImageData(data, width, height), 0, 0);
  button.title = `Floor ${floor.spec.number} of tower ${floor.spec.seed}: ${KINDS[floor.spec.kind]}, ${plain(floor.theme)}`;
}
