// The tables of `npm run bench`, as docs/performance.md has them, and the targets of its rows.
import { shown, table, times } from "./harness.mjs";
import { SUBJECTS } from "./subjects.mjs";
import { middleHalf, ratios } from "./timing.mjs";

const count = (value) => shown(Math.round(value));

/** Microseconds as people read them. */
function time(us) {
  if (us >= 1e6) return shown(us / 1e6, "s");
  return us >= 1e3 ? shown(us / 1e3, "ms") : shown(us, "µs");
}

/**
 * Ratios of medians: of ours to server-filesystem over MCP through the official client, and of the library to what stands beside it.
 * In flight, where more is better, they are turned round, so that less is better as everywhere.
 */
export function targetRows({ rows, summaries }, row) {
  for (const { id, title, most, library = {}, inFlight } of rows) {
    const of = summaries[id];
    if (of === undefined) continue;
    const ratio = (...pair) => {
      const [one, other] = (inFlight === undefined ? pair : pair.toReversed()).map((subject) => of[subject]);
      return (
        one &&
        other && { value: one.median / other.median, spread: middleHalf(ratios(one.roundMedians, other.roundMedians)) }
      );
    };
    const add = (what, found, bar, more = []) => {
      if (found === undefined) return;
      const half = `middle half ${found.spread.map((value) => shown(value)).join(" to ")}`;
      row({ what, value: found.value, unit: "x", beside: [half, ...more].join("; "), most: bar });
    };
    for (const [other, bar] of Object.entries(library))
      add(`${title}, library / ${SUBJECTS[other].label}`, ratio("library", other), bar);
    if (most === undefined) continue;
    const [raw, floor] = [ratio("raw-ours", "raw-theirs"), ratio("mcp-floor", "mcp-theirs")];
    const more = raw === undefined ? [] : [`bare client ${times(raw.value)}`];
    if (floor !== undefined) more.push(`the least in Node ${times(floor.value)}`);
    const what = inFlight === undefined ? `${title}, MCP` : `${title}: calls/s of server-filesystem / ours`;
    add(what, ratio("mcp-ours", "mcp-theirs"), most, more);
  }
}

export function reportText(measured) {
  const isRaw = (id) => SUBJECTS[id].isRaw === true;
  const sections = [
    ["## Latency", rowTable(measured, (id) => !isRaw(id))],
    ["The same through the bare client:", rowTable(measured, isRaw)],
  ];
  return sections.flatMap(([title, text]) => (text === "" ? [] : [`\n${title}\n\n${text}`])).join("");
}

/** Median and p99 of each row for the subjects asked for, and the calls before the first timed one. */
function rowTable({ rows, summaries }, isAsked) {
  const subjects = Object.keys(SUBJECTS).filter(isAsked);
  const measured = rows.filter(({ id }) => subjects.some((subject) => summaries[id]?.[subject] !== undefined));
  if (measured.length === 0) return "";
  const cell = ({ unit }, summary) => {
    if (summary === undefined) return "–";
    return unit === "µs" ? `${time(summary.median)} / ${time(summary.p99)}` : `${count(summary.median)} /s`;
  };
  return table([
    ["median / p99", ...subjects.map((id) => SUBJECTS[id].label), "calls", "after"],
    ...measured.map((row) => [
      row.title,
      ...subjects.map((id) => cell(row, summaries[row.id][id])),
      count(row.rounds * row.calls),
      count(row.warmup),
    ]),
  ]);
}
