#!/usr/bin/env node
// Drives on the embedded store (or, with --memory, in memory), beside host roots by the same operations, and beside git, in turn.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { assembleAdapter } from "../dist/adapter/adapter.js";
import { parseFileConfig } from "../dist/config/load.js";
import { createDriveEngine } from "../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../dist/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../dist/drive/store/embedded/embedded.js";
import { createMemoryStore } from "../dist/drive/store/memory.js";
import { watchCells } from "./drives/cells.mjs";
import { measureImport } from "./drives/import.mjs";
import { measureMerge } from "./drives/merge.mjs";
import { printReport, ratio, row } from "./drives/report.mjs";
import { expectEqual } from "./expect.mjs";
import { median } from "./measure.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    flush: { type: "boolean", default: false },
    imports: { type: "boolean", default: false },
  },
});
const SIZES = values.quick ? [10_000] : [10_000, 100_000];
const BIG_BYTES = 100 * 2 ** 20;
const BIG_ROUNDS = values.quick ? 1 : 3;
/** Goals of a large read: milliseconds, and beside the hashes of its chunks alone. */
const MOST_READ_MS = 800;
const MOST_OF_HASH = 1.4;
const CALLS = values.quick ? 50 : 200;
const LISTS = 5;
const MIB = 2 ** 20;
const OWNER = "did:key:bench";
const CALLER = { callerDID: OWNER, authentication: "identity" };
const VENUE = "did:web:bench.example.com";
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Milliseconds. @param cpu is told of the time of the processor, which neighbours change less */
async function timed(work, cpu = []) {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  cpu.push((user + system) / 1000);
  return ms;
}

async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const openEngine = (store) =>
  createDriveEngine({
    store,
    keys: createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock }),
    clock,
    log,
  });

/** The most memory that there was beyond what there was before. */
async function memoryOf(work, cpu) {
  const before = process.memoryUsage.rss();
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 5);
  const ms = await timed(work, cpu);
  clearInterval(watch);
  return { ms, memory: (highest - before) / MIB };
}

const diskOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);

function hashChunks(content) {
  for (let at = 0; at < content.length; at += 4096) {
    createHash("sha3-256")
      .update(content.subarray(at, at + 4096))
      .digest();
  }
}

async function measureBig({ owner, folder }) {
  const names = ["write", "read", "again", "memory", "bare", "fs", "git", "append", "cpu", "readCpu", "againCpu"];
  const found = Object.fromEntries(names.map((name) => [name, []]));
  const before = values.memory ? 0 : diskOf(join(folder, "store"));
  for (let round = 0; round < BIG_ROUNDS; round += 1) {
    const content = randomBytes(BIG_BYTES);
    found.bare.push(await timed(() => hashChunks(content)));
    const { ms, memory } = await memoryOf(async () => {
      const staged = await owner.stage(pieces(content));
      await owner.change("big", (drive) => drive.writeFile(["f"], staged));
    }, found.cpu);
    found.write.push(ms);
    found.memory.push(memory);
    const path = join(folder, "bare");
    found.fs.push(
      await timed(() => {
        writeFileSync(`${path}.new`, content);
        renameSync(`${path}.new`, path);
      }),
    );
    found.git.push(await timed(() => git(folder, "hash-object", "-w", path)));
    const snapshot = await owner.read("big");
    const readAll = async (into) => {
      for (let at = 0; at < BIG_BYTES; at += MIB) {
        const { bytes } = await snapshot.readFile(["f"], at, MIB, into);
        if (bytes.compare(content, at, at + MIB) !== 0) throw new Error("What is read back differs");
      }
    };
    found.read.push(await timed(() => readAll(), found.readCpu));
    const into = Buffer.allocUnsafe(MIB);
    found.again.push(await timed(() => readAll(into), found.againCpu));
    snapshot.release();
    for (let call = 0; call < 20; call += 1) {
      found.append.push(await timed(() => owner.change("big", (drive) => drive.appendFile(["f"], Uint8Array.of(1)))));
    }
  }
  const disk = values.memory ? undefined : (diskOf(join(folder, "store")) - before) / BIG_ROUNDS;
  return { ...found, disk };
}

function reportBig({ write, read, again, memory, bare, fs, git: gits, append, disk, cpu, readCpu, againCpu }) {
  const beside = `hash alone ${ratio(write, bare)}, bare file ${ratio(write, fs)}, git hash-object ${ratio(write, gits)}`;
  row("write 100 MiB", write, { beside, most: 2300, cpu });
  row("more memory meanwhile, first time (MiB)", memory.slice(0, 1), { most: 64 });
  const most = Math.min(MOST_READ_MS, Math.round(MOST_OF_HASH * median(bare)));
  row("read 100 MiB, hashes checked", read, { beside: `hash alone ${ratio(read, bare)}`, most, cpu: readCpu });
  row("the same, into the same buffer", again, { beside: `hash alone ${ratio(again, bare)}`, most, cpu: againCpu });
  row("append 1 byte to 100 MiB", append);
  if (disk !== undefined) row("disk for 100 MiB (MB)", [disk / 1e6], { beside: "104.9 MB of content", most: 112 });
}

const git = (cwd, ...args) => execFileSync("git", args, { cwd, stdio: ["ignore", "pipe", "ignore"] });

async function measureMany(count, { engine, cells, folder, files }) {
  const owner = engine.owner(OWNER);
  const drive = `many-${count}`;
  const host = join(folder, "host", drive);
  mkdirSync(host, { recursive: true });
  const content = (file) => Buffer.from(`${file} `.padEnd(1023, `${file * 7919} `)).toString();
  const name = (file) => `file-${file}.txt`;
  const found = { write: [], hostWrite: [], read: [], hostRead: [], list: [], hostList: [], cells: [], bytes: [] };
  const cpu = { write: [], read: [], list: [] };
  const fill = await timed(async () => {
    for (let at = 0; at < count; at += 1000) {
      await owner.change(drive, async (tree) => {
        for (let file = at; file < at + 1000; file += 1) await tree.writeFile([name(file)], Buffer.from(content(file)));
      });
    }
  });
  const fsFill = await timed(() => {
    for (let file = 0; file < count; file += 1) writeFileSync(join(host, name(file)), content(file));
  });
  git(host, "init", "-q");
  const gitFill = await timed(() => git(host, "add", "."));
  const call = (root, operation, input) => files.invoke(`file:${operation}`, { root, ...input }, CALLER);
  const paths = { drive: (file) => name(file), host: (file) => `${drive}/${name(file)}` };
  for (let round = 0; round < CALLS; round += 1) {
    const file = (round * 7919) % count;
    const text = content(count + round);
    cells.reset();
    found.write.push(await timed(() => call(drive, "write", { path: paths.drive(file), content: text }), cpu.write));
    found.cells.push(cells.count);
    found.bytes.push(cells.bytes);
    found.hostWrite.push(await timed(() => call("host", "write", { path: paths.host(file), content: text })));
    const read = async (root, path) => expectEqual((await call(root, "read", { path })).content, text, "What is read");
    found.read.push(await timed(() => read(drive, paths.drive(file)), cpu.read));
    found.hostRead.push(await timed(() => read("host", paths.host(file))));
  }
  for (let round = 0; round < LISTS; round += 1) {
    const snapshot = await owner.read(drive);
    const listed = async () => expectEqual((await snapshot.entries([])).length, count, "Entries");
    found.list.push(await timed(listed, cpu.list));
    snapshot.release();
    const first = { path: drive, limit: 1 };
    found.hostList.push(
      await timed(async () => expectEqual((await call("host", "list", first)).total, count + 1, "Names")),
    );
  }
  return { ...found, cpu, fill: [fill], fsFill: [fsFill], gitFill: [gitFill] };
}

function reportMany(count, found) {
  const { fill, fsFill, gitFill, write, hostWrite, read, hostRead, list, hostList, cpu } = found;
  row(`write ${count} files of 1 KB, 1000 a change`, fill, {
    beside: `bare files ${ratio(fill, fsFill)}, git add ${ratio(fill, gitFill)}`,
  });
  const most = (150 * count) / 10_000;
  const beside = (ours, theirs) => `host root ${ratio(ours, theirs)}`;
  row(`overwrite 1 KB in ${count}, file:write`, write, { beside: beside(write, hostWrite), most: 5, cpu: cpu.write });
  row("… new cells", found.cells, { most: 16 });
  row("… their bytes", found.bytes, { most: 16_384 });
  row(`read 1 KB in ${count}, file:read`, read, { beside: beside(read, hostRead), cpu: cpu.read });
  row(`list ${count} with sizes`, list, { beside: `${beside(list, hostList)}, names only`, most, cpu: cpu.list });
}

/** Ends the report. */
async function importRows(folder, openStore) {
  const imports = await openStore(join(folder, "import"));
  await measureImport(imports, values.quick ? 10_000 : 100_000);
  await imports.close();
  printReport(folder, { store: values.memory ? "memory" : `embedded, flush ${values.flush ? "on" : "off"}` });
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "vf-drives-"));
  mkdirSync(join(folder, "host"));
  git(folder, "init", "-q");
  try {
    const path = join(folder, "store");
    const openStore = (at) =>
      values.memory ? createMemoryStore({ maxBytes: 2 ** 32 }) : openEmbeddedStore({ path: at, flush: values.flush });
    if (values.imports) {
      await importRows(folder, openStore);
      return;
    }
    const { store, cells } = watchCells(await openStore(path));
    const engine = openEngine(store);
    const drives = Object.fromEntries(SIZES.map((count) => [`many-${count}`, { dlfs: `many-${count}` }]));
    const roots = { host: { path: join(folder, "host"), durability: values.flush ? "flush" : "none" }, ...drives };
    const files = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), {
      drives: { of: async (owner) => engine.owner(owner) },
      capabilities: { venueDid: VENUE, operator: VENUE, publicCaps: [{ with: "file://", can: "crud" }] },
    });
    reportBig(await measureBig({ owner: engine.owner(OWNER), folder }));
    for (const count of SIZES) reportMany(count, await measureMany(count, { engine, cells, folder, files }));
    await engine.close();
    const later = openEngine(store);
    row("first change of the next process", [await timed(() => later.owner(OWNER).create("new"))], { most: 100 });
    await later.close();
    await files.close();
    await store.close();
    if (!values.quick) measureMerge();
    await importRows(folder, openStore);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
