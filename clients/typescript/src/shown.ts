/** How errors show values. */

/** A value in an error. */
export function shown(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
}
