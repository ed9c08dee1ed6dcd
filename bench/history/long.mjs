// Histories of 100,000 entries in a host root and in a drive: the first page, and what they add to a start; and what the log of a
// drive costs a change.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { compare } from "../compare.mjs";
import { openAdapter, openEmbedded } from "../drive-stores.mjs";
import { KB, makeText } from "../fixture.mjs";
import { inTurns, median, timings } from "../timing.mjs";
import { patching } from "./changes.mjs";

const AT_ONCE = 32;
const TEXT = makeText(KB, 1);
const DRIVE = { d: { dlfs: "work" } };
const PROBE = new URL("../servers/start-probe.mjs", import.meta.url).pathname;

export function longParts(home) {
  const folder = (name) => join(home.path, `drives-${name}`);
  return [
    { name: "history of 100,000 entries", run: (context) => measureHost(context, home) },
    { name: "drive: write 1 KB", run: (context) => measureLog(context, folder) },
    { name: "drive: patch of 20 files", run: (context) => measurePatch(context, folder) },
    { name: "drive: history of 100,000 entries", run: (context) => measureDrive(context, folder) },
  ];
}

const entriesIn = (quick) => (quick ? 3_000 : 100_000);

async function fill(call, root, count) {
  for (let at = 0; at < count; at += AT_ONCE) {
    const append = (_, index) => call("append", { root, path: `filled-${index}.txt`, content: "." });
    await Promise.all(Array.from({ length: AT_ONCE }, append));
  }
}

async function pageRow({ row }, what, call, input) {
  row({ what, value: median(await timings(21, () => call("history", { limit: 50, ...input }))), most: 20 });
}

/** Milliseconds from opening a root in a new process to its first change, with a long history and with none. */
async function startRow({ quick, row }, what, long, none) {
  const probe = (args) => Number(execFileSync(process.execPath, [PROBE, ...args], { encoding: "utf8" }));
  const found = await inTurns(quick ? 3 : 15, { long: () => probe(long), none: (round) => probe(none(round)) });
  const value = median(found.long) - median(found.none);
  row({ what: `${what}start and first change with 100,000 entries, more than with none`, value, most: 30 });
}

async function measureHost(context, home) {
  const root = "on-none";
  await fill(home.call, root, entriesIn(context.quick));
  await pageRow(context, "history of 100,000 entries: first page", home.call, { root });
  await pageRow(context, "the same, of one path", home.call, { root, path: "filled-3.txt" });
  const state = join(home.path, "state");
  const empty = (round) => ["host", join(home.path, "empty", `${round}`), state];
  await startRow(context, "", ["host", home.at(root), state], empty);
}

/** Opens a drive of its own for some work. */
async function withDrive(path, isLogged, work) {
  const drives = await openEmbedded(path);
  const adapter = await openAdapter(isLogged ? drives : { owner: silent(drives.owner) }, DRIVE);
  try {
    return await work((operation, input) => adapter.call(operation, { root: "d", ...input }));
  } finally {
    await adapter.close();
    await drives.close();
  }
}

/** The drives of an owner, of whose changes the log is told nothing. */
function silent(owner) {
  const quiet = (tree) =>
    new Proxy(tree, {
      get(target, name) {
        if (name === "note") return () => ({});
        const value = target[name];
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return { ...owner, change: (drive, work) => owner.change(drive, (tree) => work(quiet(tree))) };
}

function measureLog(context, folder) {
  const form = (call) => ({ run: (index) => call("write", { path: `f${index % 16}`, content: `${index}\n${TEXT}` }) });
  const what = "drive: write 1 KB, with the log to without";
  const how = { what, most: 1.25, rounds: 40, calls: 40, warmup: 200 };
  return withDrive(folder("on"), true, (on) =>
    withDrive(folder("off"), false, (off) => compare(context, { ...how, forms: [form(on), form(off)] })),
  );
}

function measurePatch(context, folder) {
  return withDrive(folder("patch"), true, (call) => {
    const [patch] = patching(call);
    const write = { run: (index) => call("write", { path: "one", content: `${index}\n${TEXT}` }) };
    const how = { what: "drive: patch of 20 files to one write", most: 3, rounds: 20, calls: 10 };
    return compare(context, { ...how, forms: [patch, write] });
  });
}

async function measureDrive(context, folder) {
  await withDrive(folder("empty"), true, (call) => fill(call, "d", 1));
  await withDrive(folder("full"), true, async (call) => {
    await fill(call, "d", entriesIn(context.quick));
    await pageRow(context, "drive: history of 100,000 entries: first page", call, {});
  });
  await startRow(context, "drive: ", ["drive", folder("full")], () => ["drive", folder("empty")]);
}
