// What the first floor does not need: it is loaded after the page answers.

import { type Host as Cards, saveCard } from "./card";
import { Daily, type Host as Climbs } from "./daily";
import { ExportPanel, type Host as Exports } from "./export-panel";
import { FloorList, type Host as Lists } from "./floor-list";
import { type Host as Packs, PackPanel } from "./pack-panel";
import { type Host as Papers, Paper } from "./paper";
import { type Host as Searches, SearchPanel } from "./search-panel";
import { type Host as Strips, Strip } from "./strip";

/** The page, as far as the panels use it. */
export type Host = Packs & Searches & Strips & Lists & Papers & Exports & Cards & Climbs;

export class Panels {
  readonly packs: PackPanel;
  readonly search: SearchPanel;
  readonly daily: Daily;
  readonly #strip: Strip;
  readonly #saved: FloorList;

  constructor(page: Host) {
    this.packs = new PackPanel(page);
    this.search = new SearchPanel(page);
    this.daily = new Daily(page);
    this.#strip = new Strip(page);
    this.#saved = new FloorList(page);
    new Paper(page);
    new ExportPanel(page);
    document.getElementById("card")?.addEventListener("click", () => saveCard(page));
    for (const id of ["daily", "card", "pack", "floors", "print", "export", "favourite", "search-fields"]) {
      (document.getElementById(id) as HTMLButtonElement | HTMLFieldSetElement).disabled = false;
    }
  }

  /** Shows what belongs to the floor that is shown. */
  refresh(): void {
    this.search.showSpace();
    this.#strip.refresh();
    this.#saved.refresh();
  }
}
