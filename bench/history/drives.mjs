// The log of drives on the embedded store: what it costs a change, a group of changes, and a start.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { assembleAdapter } from "../../dist/adapter/adapter.js";
import { parseFileConfig } from "../../dist/config/load.js";
import { KB, makeText } from "../fixture.mjs";
import { median } from "../measure.mjs";
import { CALLER, DRIVE, fillLog, openDrives } from "./drive-store.mjs";
import { inTurns, timed } from "./turns.mjs";

const ENTRIES = 100_000;
const FEWER = 10_000;
const FILES = 16;
const TEXT = makeText(KB, 1);
const PATCHED = 20;
const PROBE = new URL("./drive-probe.mjs", import.meta.url).pathname;

export function driveRows(home) {
  const folder = (name) => join(home.path, `drives-${name}`);
  let filled;
  const full = (isQuick) => {
    filled ??= fillLog(folder("full"), isQuick ? FEWER : ENTRIES);
    return filled;
  };
  return [
    {
      title: "drive: write 1 KB, with the log to without",
      most: 1.25,
      measure: (isQuick) =>
        withRoots([folder("on"), folder("off")], async (on, off) => {
          const form = (call) => (index) =>
            timed(() => call("write", { root: "d", path: `f${index % FILES}`, content: `${index}\n${TEXT}` }));
          return inTurns([form(on), form(off)], { rounds: isQuick ? 8 : 40, calls: 40, warmup: 200 });
        }),
    },
    {
      title: `drive: patch of ${PATCHED} files to one write`,
      most: 3,
      measure: (isQuick) =>
        withRoots([folder("patch"), undefined], async (call) => {
          const write = (index) => timed(() => call("write", { root: "d", path: "one", content: `${index}\n${TEXT}` }));
          for (let file = 0; file < PATCHED; file++) {
            await call("write", { root: "d", path: FILE(file), content: `turn 0\n${TEXT}` });
          }
          let turn = 0;
          const patch = () => timed(() => call("patch", { root: "d", patch: patchOf(turn++) }));
          return inTurns([patch, write], { rounds: isQuick ? 6 : 20, calls: 10 });
        }),
    },
    {
      title: "drive: history of 100,000 entries: first page",
      most: 20,
      unit: " ms",
      async measure(isQuick) {
        await full(isQuick);
        return withRoots([folder("full"), undefined], async (call) => {
          const times = [];
          for (let count = 0; count < 21; count++) {
            times.push(await timed(() => call("history", { root: "d", limit: 50 })));
          }
          return { value: median(times) };
        });
      },
    },
    {
      title: "drive: start and first change with 100,000 entries, more than with none",
      most: 30,
      unit: " ms",
      async measure(isQuick) {
        await full(isQuick);
        await fillLog(folder("empty"), 1);
        const times = { full: [], empty: [] };
        for (let round = 0; round < (isQuick ? 5 : 15); round++) {
          for (const name of Object.keys(times)) {
            times[name].push(Number(execFileSync(process.execPath, [PROBE, folder(name)], { encoding: "utf8" })));
          }
        }
        return { value: median(times.full) - median(times.empty) };
      },
    },
  ];
}

/** @param folders of stores: of one with the log, and of one without */
async function withRoots([on, off], use) {
  const open = [];
  const calls = [];
  for (const [path, isLogged] of [
    [on, true],
    [off, false],
  ]) {
    if (path === undefined) continue;
    const drives = await openDrives(path, isLogged);
    const config = parseFileConfig({ roots: { d: { dlfs: DRIVE } } }, { baseDir: "/" });
    const adapter = await assembleAdapter(config, { drives, discloseHostPaths: false });
    open.push(adapter, drives);
    calls.push((op, input) => adapter.invoke(`file:${op}`, input, CALLER));
  }
  try {
    return await use(...calls);
  } finally {
    for (const one of open) await one.close();
  }
}

const FILE = (file) => `p${file}`;

const patchOf = (turn) =>
  [
    "*** Begin Patch",
    ...Array.from({ length: PATCHED }, (_, file) => [
      `*** Update File: ${FILE(file)}`,
      "@@",
      `-turn ${turn}`,
      `+turn ${turn + 1}`,
    ]).flat(),
    "*** End Patch",
    "",
  ].join("\n");
