// The tab Floor: facts, words and legend of the floor that is shown.

import { describeFloor, encoding, facts, titleOf } from "./describe";
import { element } from "./element";
import type { Fog } from "./fog";
import { fillLegend } from "./legend";
import { formatSpec } from "./link";
import type { Palette } from "./palette";
import type { Scene } from "./scene";

export class Description {
  #shown?: Scene;
  #palette?: Palette;

  /** `visit` gets the cell to which a line of the legend leads. */
  show(scene: Scene, palette: Palette, visit: (index: number) => void, fog?: Fog): void {
    if (!fog && scene === this.#shown && palette === this.#palette) return;
    // Each step of a walk shows more.
    [this.#shown, this.#palette] = [fog ? undefined : scene, palette];
    const { floor } = scene;
    document.title = `${floor.tower ?? formatSpec(floor.spec)} · Floor viewer`;
    for (const [id, text] of [["floor-name", floor.name], ["hook", floor.hook]] as const) {
      element(id).textContent = text?.text ?? "";
      element(id).hidden = !text;
    }
    element("about").textContent = titleOf(floor);
    fillPairs("facts", facts(scene, fog));
    fillPairs("encoding", encoding(floor));
    element("words").textContent = describeFloor(scene, fog);
    fillLegend(element("legend"), scene, palette, visit, fog);
  }
}

function fillPairs(id: string, pairs: [string, string][]): void {
  element(id).replaceChildren(...pairs.flatMap(([name, value]) => [
    Object.assign(document.createElement("dt"), { textContent: name }),
    Object.assign(document.createElement("dd"), { textContent: value }),
  ]));
}
