import { median, percentile } from "./measure.mjs";
import { NATIVE_SERVERS, nativeNames } from "./native.mjs";
import { SUBJECTS } from "./subjects.mjs";

/** Columns of the two tables of times. */
export const OFFICIAL = [
  "library",
  "mcp-ours",
  "mcp-theirs",
  "fs-sync",
  "fs-promises",
  "native",
  "mcp-floor",
  ...NATIVE_SERVERS.map((name) => `mcp-${name}`),
];
export const RAW = ["raw-ours", "raw-theirs"];

/** Microseconds as people read them. */
export function time(us) {
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1e4) return `${(us / 1e3).toFixed(1)} ms`;
  if (us >= 1e3) return `${(us / 1e3).toFixed(2)} ms`;
  return `${us.toFixed(us < 100 ? 1 : 0)} µs`;
}

const count = (value) => Math.round(value).toLocaleString("en-US");
const ratio = (value) => (value < 0.1 ? value.toFixed(4) : value.toFixed(2));
const megabytes = (kilobytes) => `${(kilobytes / 1024).toFixed(0)} MB`;

export function machineLines({ machine, date, command, seconds }) {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${machine.kernel}; Node ${machine.node}; ${machine.fileSystem}`,
    [...versions, ...nativeNames()].join(", "),
    `${date}, \`${command}\`, ${seconds} s; load ${machine.load.toFixed(1)} at the start, ${machine.loadAtEnd.toFixed(1)} at the end`,
  ];
}

/** Median and p99 of each row for these subjects. The first line holds the titles. */
export function rowTable({ rows, summaries }, subjects) {
  const shown = rows.filter(({ id }) => subjects.some((subject) => summaries[id]?.[subject] !== undefined));
  return [
    ["median / p99", ...subjects.map((id) => SUBJECTS[id].label), "calls each"],
    ...shown.map((row) => {
      const cells = subjects.map((subject) => cell(row, summaries[row.id][subject]));
      return [
        row.title,
        ...cells,
        callsOf(
          row,
          subjects.flatMap((id) => summaries[row.id][id]?.n ?? []),
        ),
      ];
    }),
  ];
}

/** Some forms of a row are called more often than the others. */
function callsOf(row, samples) {
  const each = row.inFlight === undefined ? 1 : row.calls;
  const [least, most] = [Math.min(...samples) * each, Math.max(...samples) * each];
  return least === most ? count(most) : `${count(least)}–${count(most)}`;
}

function cell({ unit }, summary) {
  if (summary === undefined) return "–";
  if (unit === "calls/s") return `${count(summary.median)} /s`;
  return `${time(summary.median)} / ${time(summary.p99)}`;
}

/** What was promised, and what came of it. */
export function verdictTable({ verdicts }) {
  return [
    ["what", "measured", "at most", "", "middle half of rounds", "through the bare client", "the least in Node"],
    ...verdicts.map(({ what, value, most, pass, spread, raw, floor }) => [
      what,
      most >= 100 ? count(value) : `${ratio(value)}x`,
      most >= 100 ? count(most) : `${most}x`,
      pass ? "pass" : "FAIL",
      spread === undefined ? "" : spread.map(ratio).join("–"),
      raw === undefined ? "" : `${ratio(raw)}x`,
      floor === undefined ? "" : `${ratio(floor)}x`,
    ]),
  ];
}

/** So many of the targets that are met are named where all of them are counted. */
const NAMED = 6;

/** What is fast and what is not, in one paragraph: the targets that are ratios, met and missed, the furthest from its own first. */
export function standing({ verdicts }) {
  const ratios = verdicts
    .filter(({ most }) => most < 100)
    .toSorted((left, right) => left.value / left.most - right.value / right.most);
  if (ratios.length === 0) return "";
  const name = ({ what }) => what.replace(/, MCP$/, "");
  const met = ratios.filter(({ pass }) => pass);
  const missed = ratios.filter(({ pass }) => !pass).toReversed();
  const best = met.slice(0, NAMED).map((one) => `${name(one)} (${ratio(one.value)}x)`);
  const worst = missed.map((one) => `${name(one)} (${ratio(one.value)}x; at most ${one.most}x)`);
  const by = "times beside `@modelcontextprotocol/server-filesystem`, unless another is named";
  return [
    `**Fast enough**: ${met.length} of ${ratios.length} targets (${by})${best.length === 0 ? "." : `, first of all ${best.join("; ")}.`}`,
    ...(worst.length === 0 ? [] : [`**Not fast enough yet**: ${worst.join("; ")}.`]),
  ].join("\n");
}

/** Everything that is no timed row, a line each. */
export function extrasLines({ extras }) {
  const { floor, start, warming, tools, memory, flight, buffer, sparse } = extras;
  const lines = [];
  if (floor !== undefined) {
    const each = Object.entries(floor).map(([key, { median: us }]) => `${key} ${time(us)}`);
    lines.push(`A tool that does nothing, median: ${each.join("; ")}`);
  }
  if (start !== undefined) {
    const each = ({ ours, theirs, node }) =>
      `venue-files ${startTime(ours)}, server-filesystem ${startTime(theirs)}, Node without any package ${startTime(node)}`;
    lines.push(`Start until initialize is answered, median / p99: ${each(start.times)}`);
    const ms = (times) => `${median(times).toFixed(0)} ms`;
    lines.push(
      `Processor time of the start, and with the first call: venue-files ${ms(start.cpu.ours)}, ${ms(start.cpuWithCall.ours)}; server-filesystem ${ms(start.cpu.theirs)}, ${ms(start.cpuWithCall.theirs)}`,
    );
    lines.push(
      `Peak memory after it: venue-files ${megabytes(start.rssAfterStart.ours)}, server-filesystem ${megabytes(start.rssAfterStart.theirs)}`,
    );
  }
  if (warming !== undefined) {
    const { calls, us } = warming;
    const each = Object.keys(us.ours).map(
      (stage) =>
        `${count(Number(stage) + 1)} to ${count(Number(stage) + calls)}: venue-files ${time(us.ours[stage])}, server-filesystem ${time(us.theirs[stage])}, the least in Node ${time(us.floor[stage])}`,
    );
    lines.push(`Processor time of a stat, by the calls since the start, ${each.join("; ")}`);
  }
  if (memory !== undefined) {
    const { peaks, work } = memory;
    const done = Object.entries(work).map(([id, times]) => `${times}x ${id}`);
    lines.push(
      `Peak memory after the same work (${done.join(", ")}): venue-files ${megabytes(peaks.ours)}, server-filesystem ${megabytes(peaks.theirs)}`,
    );
  }
  if (flight !== undefined) {
    const { ours, theirs } = flight.peaks;
    lines.push(
      `Peak memory after 16 reads of 5 MB in flight: venue-files ${megabytes(ours)}, server-filesystem ${megabytes(theirs)}`,
    );
  }
  if (sparse !== undefined) {
    const { before, after } = sparse;
    lines.push(
      `Peak memory of venue-files for 100 lines and the last one of 10 GB: ${megabytes(after - before)} more than before`,
    );
  }
  if (tools !== undefined) {
    const each = ({ tools: number, tokens }) => `${number} tools in ${count(tokens)} tokens`;
    lines.push(`tools/list: venue-files ${each(tools.ours)}, server-filesystem ${each(tools.theirs)}`);
  }
  if (buffer !== undefined) {
    lines.push(
      `5 MB of text in the official client with its own limit of 10 MiB an answer: venue-files ${buffer.ours}, server-filesystem ${buffer.theirs}`,
    );
  }
  return lines;
}

function startTime(times) {
  return `${median(times).toFixed(0)} / ${percentile(times, 99).toFixed(0)} ms`;
}

/** Bytes of one answer. The first line holds the titles. */
export function wireTable({ rows, extras }) {
  const { wire } = extras;
  if (wire === undefined) return [];
  const shown = rows.filter(({ id }) => wire[id] !== undefined);
  return [
    ["bytes of the answer", "venue-files", "server-filesystem"],
    ...shown.map(({ id, title }) => [title, ...["ours", "theirs"].map((form) => bytesOf(wire[id][form]))]),
  ];
}

const bytesOf = (bytes) => (bytes === undefined ? "–" : count(bytes));
