// Formats sizes for people and models.

const UNITS = ["KB", "MB", "GB", "TB", "PB"];

/** A size for display: `12 B`, `1.2 KB`; powers of 1024, one decimal, rounded down, always with a decimal point. */
export function humanSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${(Math.floor(value * 10) / 10).toFixed(1)} ${UNITS[unit]}`;
}
