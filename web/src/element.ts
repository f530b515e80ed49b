// The elements of the page.

export const element = <E extends HTMLElement = HTMLElement>(id: string): E => document.getElementById(id) as E;
