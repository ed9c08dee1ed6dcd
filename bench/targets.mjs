import { median, spread } from "./measure.mjs";

/** Ratios of medians over MCP, ours to theirs, through the official client. */
const LATENCY = [
  ["read 1 KB", "read-1k", 0.45],
  ["stat", "stat", 0.6],
  ["write 1 KB", "write-1k", 1.5],
  ["write 1 KB, the old one kept", "kept-1k", 1.5],
  ["read 100 KB", "read-100k", 0.4],
  ["read 100 KB, text not all ASCII", "read-100k-unicode", 0.4],
  ["read 5 MB", "read-5m", 0.2],
  ["read 100 KB, binary", "blob-100k", 0.4],
  ["read 5 MB, binary", "blob-5m", 0.4],
  ["list 1,000", "list-1000", 0.6],
  ["list 1,000 in the default format / names and sizes", "list-lines", 1],
  ["list 1,000 in the default format / bare names", "list-plain", 2.5],
  ["tree of 5,000", "tree-5k", 0.15],
  ["tree at default caps in 100,000", "tree-100k", 0.02],
  ["append 1 KB to 100 KB", "append-1k", 0.1],
  ["append 1 KB to 100 KB, with the journal", "kept-append", 0.1],
  ["lines 5,000–5,100 of 8 MB / reading it all", "lines-8m", 0.03],
  ["edit one line of 100 KB", "edit-100k", 1.5],
  ["edit one line of 100 KB, the old one kept", "kept-100k", 1.5],
];

const WIRE = [
  ["read-100k", 1.1],
  ["read-5m", 1.1],
  ["blob-100k", 1.36],
  ["blob-5m", 1.36],
];

/** Calls a second with 16 in flight over MCP, at least so many times those of server-filesystem. */
const IN_FLIGHT = [
  ["in-flight", 1.8],
  ["stat-in-flight", 2],
  ["write-in-flight", 0.67],
  ["edit-in-flight", 0.67],
  ["kept-write-in-flight", 0.67],
  ["kept-edit-in-flight", 0.67],
];

/** Ratios of medians, the library to the program of the system. */
const NATIVE = [
  ["grep 13 MB for a text, library / `rg` and its start", "grep-13m", 1.2],
  ["grep 100 MB in 20,000 files, library / `rg` and its start", "grep-100m", 1.5],
  ["du of 100,000, library / `du` and its start", "du-100k", 1.8],
  ["copy, library / `cp` and its start", "copy-1g", 1.1],
];

const MAX_GLOB_US = 40_000;
const MAX_SPARSE_KB = 64 * 1024;
const MAX_TOKENS = 3_300;
const MAX_FLIGHT_KB = 300 * 1024;

/**
 * What the project promised to reach, as far as it was measured.
 * @returns `{ what, value, most, pass, spread?, raw?, floor? }[]`; `raw` is the same ratio through the bare client, `floor` that of the
 *   least server in Node
 */
export function judge({ summaries, rows, extras }) {
  return [
    ...judgeLibrary(summaries),
    ...judgeLatency(summaries),
    ...judgeInFlight(summaries, rows),
    ...judgeSearch(summaries),
    ...judgeWire(rows, extras),
    ...judgeRest(extras),
  ];
}

function verdict(what, value, most, more) {
  return { what, value, most, pass: value <= most, ...more };
}

function judgeLibrary(summaries) {
  const row = summaries["read-1k"];
  if (row === undefined) return [];
  const { library } = row;
  return [
    verdict("library read 1 KB / `readFileSync`", library.median / row["fs-sync"].median, 4, {
      spread: spread(library, row["fs-sync"]),
    }),
    verdict("library read 1 KB / `fs.promises.readFile`", library.median / row["fs-promises"].median, 1, {
      spread: spread(library, row["fs-promises"]),
    }),
  ];
}

function judgeLatency(summaries) {
  return LATENCY.flatMap(([what, id, most]) => {
    const row = summaries[id];
    if (row === undefined) return [];
    const ours = row["mcp-ours"];
    const theirs = row["mcp-theirs"];
    const raw = row["raw-ours"].median / row["raw-theirs"].median;
    const floor = hasFloor(row) ? row["mcp-floor"].median / theirs.median : undefined;
    return [verdict(`${what}, MCP`, ours.median / theirs.median, most, { spread: spread(ours, theirs), raw, floor })];
  });
}

const hasFloor = (row) => row["mcp-floor"] !== undefined;

/** Turned round, so that less is better as everywhere. */
function judgeInFlight(summaries, rows) {
  return IN_FLIGHT.flatMap(([id, least]) => {
    const row = summaries[id];
    if (row === undefined) return [];
    const [ours, theirs] = [row["mcp-ours"], row["mcp-theirs"]];
    const raw = row["raw-theirs"].median / row["raw-ours"].median;
    const what = `${rows.find((one) => one.id === id).title}: calls/s of server-filesystem / ours`;
    const floor = hasFloor(row) ? theirs.median / row["mcp-floor"].median : undefined;
    const more = { spread: spread(theirs, ours), raw, floor };
    return [verdict(what, theirs.median / ours.median, Number((1 / least).toFixed(3)), more)];
  });
}

function judgeSearch(summaries) {
  const glob = summaries["glob-5k"];
  const verdicts = NATIVE.flatMap(([what, id, most]) => {
    const row = summaries[id];
    if (row === undefined) return [];
    const { library, native } = row;
    return [verdict(what, library.median / native.median, most, { spread: spread(library, native) })];
  });
  if (glob !== undefined) verdicts.push(verdict("glob of 5,000, library, in µs", glob.library.median, MAX_GLOB_US));
  return verdicts;
}

function judgeWire(rows, { wire }) {
  if (wire === undefined) return [];
  return WIRE.flatMap(([id, most]) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined || wire[id] === undefined) return [];
    return [verdict(`${row.title}: bytes on the wire / payload`, wire[id].ours / row.payload, most)];
  });
}

function judgeRest({ start, tools, sparse, flight }) {
  const verdicts = [];
  if (flight !== undefined) {
    verdicts.push(verdict("peak memory of 16 reads of 5 MB in flight, in KB", flight.peaks.ours, MAX_FLIGHT_KB));
  }
  if (sparse !== undefined) {
    const more = sparse.after - sparse.before;
    verdicts.push(verdict("memory for 100 lines of 10 GB, in KB", more, MAX_SPARSE_KB));
  }
  if (start !== undefined) {
    const { ours, theirs } = start.times;
    const ratios = spread({ roundMedians: ours }, { roundMedians: theirs });
    verdicts.push(
      verdict("start until `initialize` answers, MCP", median(ours) / median(theirs), 1.1, { spread: ratios }),
    );
    for (const [what, times, most] of [
      ["start until `initialize` answers, processor time", start.cpu, 0.65],
      ["start and first call, processor time", start.cpuWithCall, 0.7],
    ]) {
      const between = spread({ roundMedians: times.ours }, { roundMedians: times.theirs });
      verdicts.push(verdict(what, median(times.ours) / median(times.theirs), most, { spread: between }));
    }
  }
  if (tools !== undefined) {
    verdicts.push(verdict("`tools/list`, tokens (o200k_base)", tools.ours.tokens, MAX_TOKENS));
  }
  return verdicts;
}
