// 100 MiB in and out, beside the hashes of its chunks alone, a bare file and git.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDrives } from "../drive-stores.mjs";
import { expectThat } from "../expect.mjs";
import { times } from "../harness.mjs";
import { growthWhile, median, timed, timings } from "../timing.mjs";

const BYTES = 100 * 2 ** 20;
const MIB = 2 ** 20;
const CHUNK = 4096;
/** Goals of a large read: milliseconds, and beside the hashes of its chunks alone. */
const MOST_READ_MS = 800;
const MOST_OF_HASH = 2.2;

export const git = (cwd, ...args) => execFileSync("git", args, { cwd, stdio: ["ignore", "pipe", "ignore"] });

export async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

function hashChunks(content) {
  for (let at = 0; at < content.length; at += CHUNK) {
    createHash("sha3-256")
      .update(content.subarray(at, at + CHUNK))
      .digest();
  }
}

const diskOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);

export async function measureBig({ quick, row }, { store, folder }) {
  const rounds = quick ? 1 : 3;
  const drives = openDrives(store);
  const { owner } = drives;
  git(folder, "init", "-q");
  const path = join(folder, "bare");
  const samples = {};
  const take = async (name, work) => {
    samples[name] ??= [];
    samples[name].push(await timed(work));
  };
  const before = diskOf(join(folder, "store"));
  let memory;
  for (let round = 0; round < rounds; round++) {
    const content = randomBytes(BYTES);
    await take("hash", () => hashChunks(content));
    const { growth } = await growthWhile(
      process.memoryUsage.rss,
      () =>
        take("write", async () => {
          const staged = await owner.stage(pieces(content));
          await owner.change("big", (drive) => drive.writeFile(["f"], staged));
        }),
      5,
    );
    memory ??= growth;
    await take("file", () => {
      writeFileSync(`${path}.new`, content);
      renameSync(`${path}.new`, path);
    });
    await take("git", () => git(folder, "hash-object", "-w", path));
    const snapshot = await owner.read("big");
    const readAll = async (into) => {
      for (let at = 0; at < BYTES; at += MIB) {
        const { bytes } = await snapshot.readFile(["f"], at, MIB, into);
        expectThat(bytes.compare(content, at, at + MIB) === 0, "What is read back differs");
      }
    };
    await take("read", () => readAll());
    await take("into", () => readAll(Buffer.allocUnsafe(MIB)));
    snapshot.release();
    const append = () => owner.change("big", (drive) => drive.appendFile(["f"], Uint8Array.of(1)));
    samples.append = [...(samples.append ?? []), ...(await timings(20, append))];
  }
  const middle = (name) => median(samples[name]);
  const of = (name, other) => times(middle(name) / middle(other));
  const hashes = `hash alone ${of("write", "hash")}, bare file ${of("write", "file")}, git hash-object ${of("write", "git")}`;
  const mostRead = Math.min(MOST_READ_MS, Math.round(MOST_OF_HASH * middle("hash")));
  row({ what: "write 100 MiB", value: middle("write"), beside: hashes, most: 2300 });
  row({ what: "more memory meanwhile, first time", value: memory / MIB, unit: "MiB", most: 64 });
  const readRow = (what, name) =>
    row({ what, value: middle(name), beside: `hash alone ${of(name, "hash")}`, most: mostRead });
  readRow("read 100 MiB, hashes checked", "read");
  readRow("the same, into the same buffer", "into");
  row({ what: "append 1 byte to 100 MiB", value: middle("append") });
  const disk = (diskOf(join(folder, "store")) - before) / rounds / 1e6;
  row({ what: "disk for 100 MiB", value: disk, unit: "MB", beside: "104.9 MB of content", most: 112 });
  await drives.close();
}
