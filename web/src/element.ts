// The elements of the page.

export const element = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
