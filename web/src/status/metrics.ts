// Reads the metrics of the venue (Prometheus exposition) as the few numbers that are shown.

const add = (to: Map<string, number>, name: string, value: number) => to.set(name, (to.get(name) ?? 0) + value);

/**
 * Sums by metric; by `failed` and `denied` of calls; by `in` and `out` of bytes; by root; and `median seconds`, the bound below
 * which half of the calls took.
 */
export function sums(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const callsWithin = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === "") continue;
    const label = (key: string) => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(labels)?.[1];
    const bound = label("le");
    if (bound !== undefined) {
      if (name === "venue_files_operation_duration_seconds_bucket") add(callsWithin, bound, Number(value));
      continue;
    }
    add(found, name, Number(value));
    const outcome = label("outcome") ?? "OK";
    if (outcome !== "OK") add(found, `${name} failed`, Number(value));
    if (/DENIED/.test(outcome)) add(found, `${name} denied`, Number(value));
    for (const key of ["direction", "root"]) {
      const own = label(key);
      if (own !== undefined) add(found, `${name} ${own}`, Number(value));
    }
  }
  const median = medianOf(callsWithin);
  if (median !== undefined) found.set("median seconds", median);
  return found;
}

/** @param callsWithin how many calls took at most so long, by seconds */
function medianOf(callsWithin: ReadonlyMap<string, number>): number | undefined {
  const bounds = [...callsWithin].map(([bound, calls]) => [Number(bound.replace("+Inf", "Infinity")), calls] as const);
  const all = Math.max(0, ...bounds.map(([, calls]) => calls));
  const within = bounds.filter(([bound, calls]) => Number.isFinite(bound) && calls > 0 && calls >= all / 2);
  return within.length === 0 ? undefined : Math.min(...within.map(([bound]) => bound));
}
