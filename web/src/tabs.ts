// The tabs beside the map.

const tabs = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("#tabs [role=tab]")];

/** Shows the panel of a tab. */
export function showTab(id: string): void {
  for (const tab of tabs()) {
    const isShown = tab.id === id;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    (document.getElementById(tab.getAttribute("aria-controls") ?? "") as HTMLElement).hidden = !isShown;
  }
}

/** The tabs answer clicks, and the arrow keys as screen readers expect. */
export function listenToTabs(): void {
  tabs().forEach((tab, at, all) => {
    tab.addEventListener("click", () => showTab(tab.id));
    tab.addEventListener("keydown", ({ key }) => {
      const by = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
      if (!by) return;
      const next = all[(at + by + all.length) % all.length];
      showTab(next.id);
      next.focus();
    });
  });
}
