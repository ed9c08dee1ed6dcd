import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { cleanUp, cleanUpWhateverHappens } from "./lifetime.mjs";
import { machineLine } from "./machine.mjs";

const COMMON = {
  quick: { type: "boolean", default: false, help: "fewer samples and smaller sizes; for orientation only" },
  only: { type: "string", multiple: true, default: [], help: "only what has this in its name; may be repeated" },
  check: { type: "boolean", default: false, help: "exit code 1 unless every target is met" },
  list: { type: "boolean", default: false, help: "print the names" },
  json: { type: "string", help: "also write what was measured to this file" },
  help: { type: "boolean", default: false, help: "this text" },
};

/**
 * Runs the parts of a bench that were asked for. Whatever it started is gone at its end, however it ends.
 *
 * @param parts `{ name, run({ values, quick, report, row }) }[]`, or a function of the options that makes them; `row` is
 *   that of {@link Report}
 * @param own options besides the common ones, as for `parseArgs`, with `help`
 * @param finish writes what comes after the last part
 */
export async function runBench(parts, { own = {}, finish } = {}) {
  const options = { ...COMMON, ...own };
  try {
    const { values } = parseArgs({ options });
    if (values.help) {
      for (const [name, { help }] of Object.entries(options)) process.stdout.write(`--${name.padEnd(10)} ${help}\n`);
      return;
    }
    cleanUpWhateverHappens();
    const all = typeof parts === "function" ? parts(values) : parts;
    const asked = all.filter(({ name }) => isAsked(values, name));
    if (values.list) {
      for (const { name } of asked) process.stdout.write(`${name}\n`);
      return;
    }
    process.stdout.write(`${machineLine()}\n\n`);
    const report = new Report();
    const context = { values, quick: values.quick, report, row: report.row.bind(report) };
    for (const part of asked) await part.run(context);
    await finish?.(context);
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report.measured));
    process.exitCode = values.check && report.measured.some(({ isMet }) => isMet === false) ? 1 : 0;
  } catch (error) {
    const isTold = error.name === "WrongAnswer" || error.code?.startsWith("ERR_PARSE_ARGS");
    process.stderr.write(`\n${isTold ? error.message : error.stack}\n`);
    process.exitCode = 1;
  } finally {
    cleanUp();
  }
  // Clients and servers of a bench may hold the loop.
  process.exit();
}

/** Whether something of that name was asked for. */
export const isAsked = ({ only }, name) => only.length === 0 || only.some((text) => name.includes(text));

/** Rows with their targets, printed as they come. */
export class Report {
  measured = [];

  /**
   * @param options.value in `unit`; the target is that it is `most` at most, or `least` at least
   * @param options.beside what it is compared with, in words
   */
  row({ what, value, unit = "ms", beside = "", most, least, ...more }) {
    const bar = most ?? least;
    const isMet = bar === undefined ? undefined : most === undefined ? value >= least : value <= most;
    if (this.measured.length === 0) this.#line(["what", "measured", "beside", "target", ""], "---");
    this.measured.push({ what, value, unit, beside, most, least, isMet, ...more });
    const target = bar === undefined ? "" : `at ${most === undefined ? "least" : "most"} ${shown(bar, unit)}`;
    this.#line([what, shown(value, unit), beside, target, isMet === undefined ? "" : isMet ? "met" : "**missed**"]);
  }

  #line(cells, rule) {
    process.stdout.write(tableLines([cells, ...(rule === undefined ? [] : [cells.map(() => rule)])]));
  }
}

/** Lines of a Markdown table. */
export const tableLines = (rows) => rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");

/** A table with its titles; the first column is text, others are numbers. */
export const table = ([titles, ...rows]) =>
  tableLines([titles, titles.map((_, column) => (column === 0 ? "---" : "---:")), ...rows]);

/** A number as people read it, with its unit. */
export function shown(value, unit = "") {
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
  const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === "x" || unit === "" ? `${text}${unit}` : `${text} ${unit}`;
}

export const times = (ratio) => shown(ratio, "x");
