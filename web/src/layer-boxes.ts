// The boxes that switch layers.

import { type Layer, LAYERS, type Layers } from "./scene";

const element = (id: string): HTMLInputElement => document.getElementById(id) as HTMLInputElement;

/** What only data shows. */
const NOT_ON_A_MAP: Layer[] = ["rooms", "areas"];

export class LayerBoxes {
  /** `toggle` gets the layer whose box is clicked. */
  constructor(toggle: (key: Layer) => void) {
    element("layers").append(...LAYERS.map(([key, name]) => {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", id: `layer-${key}` });
      box.addEventListener("change", () => toggle(key));
      label.append(box, name);
      return label;
    }));
  }

  check(layers: Layers, isMap: boolean): void {
    for (const [key] of LAYERS) {
      element(`layer-${key}`).checked = layers.has(key);
      element(`layer-${key}`).disabled = isMap && NOT_ON_A_MAP.includes(key);
    }
  }
}
