import { writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { decode, encode, Signed, sign } from "../../../src/drive/index.js";
import { Committer } from "../../../src/drive/store/embedded/batch.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { PackWriter } from "../../../src/drive/store/embedded/pack-writer.js";
import { bytesOf, OWNER, publish, putAll, SEED, treeOf } from "./cells.js";
import { committedValue, PACK_BYTES } from "./child-values.js";

// Arguments: what to do, the store, a number.
const [, , what = "", path = "", number = ""] = process.argv;

let steps = 0;

/** One step of a commit; the process ends at the one it was told. */
function step(): void {
  steps += 1;
  if (steps === Number(number)) process.kill(process.pid, "SIGKILL");
}

/** Makes each call a step before it and one after it. */
function watch(prototype: object, names: readonly string[]): void {
  for (const name of names) {
    const act = Reflect.get(prototype, name);
    Reflect.set(prototype, name, function watched(this: unknown, ...args: unknown[]) {
      step();
      const result: unknown = Reflect.apply(act, this, args);
      if (typeof result === "object" && result !== null && "then" in result) {
        return Promise.resolve(result).then((value) => {
          step();
          return value;
        });
      }
      step();
      return result;
    });
  }
}

async function watchFiles(): Promise<void> {
  const handle = await open(process.execPath, "r");
  const prototype: unknown = Object.getPrototypeOf(handle);
  await handle.close();
  if (typeof prototype !== "object" || prototype === null) throw new Error("No prototype");
  // Half of what is written gets there when it ends in the middle.
  const write: unknown = Reflect.get(prototype, "write");
  if (typeof write !== "function") throw new Error("No write");
  Reflect.set(
    prototype,
    "write",
    async function halved(this: unknown, bytes: Buffer, from: number, length: number, at: number) {
      const half = Math.ceil(length / 2);
      await Reflect.apply(write, this, [bytes, from, half, at]);
      step();
      if (half < length) await Reflect.apply(write, this, [bytes, from + half, length - half, at + half]);
      return { bytesWritten: length };
    },
  );
  watch(prototype, ["datasync", "truncate"]);
}

const store = async () =>
  openEmbeddedStore({ path, packBytes: PACK_BYTES, flush: what === "durable" || what === "steps" });

/** Commits one value after the other and tells of each once it is acknowledged. */
async function commitUntilKilled(count: number): Promise<void> {
  const opened = await store();
  for (let at = 0; at < count; at += 1) {
    await publish(opened, committedValue(at));
    writeSync(1, `${at}\n`);
    if (what === "collecting") await Promise.all([opened.collect({ graceMs: 0 }), publish(opened, committedValue(at))]);
  }
  await opened.close();
}

/** Adds one to a number that several processes add to. */
async function count(times: number): Promise<void> {
  const opened = await store();
  for (let done = 0; done < times; ) {
    const { cells } = treeOf(bytesOf(9000, process.pid * 1000 + done));
    await putAll(opened, cells);
    const present = (await opened.root(OWNER)) ?? null;
    const before = present === null ? undefined : decode(present.bytes);
    const sum = before instanceof Signed && typeof before.value === "bigint" ? before.value : 0n;
    const result = await opened.batch().commit(OWNER, present, encode(sign(sum + 1n, SEED)));
    if (result !== "conflict") done += 1;
  }
  writeSync(1, `${process.pid}\n`);
  await opened.close();
}

if (what === "steps") {
  await watchFiles();
  watch(PackWriter.prototype, ["append", "sync", "record", "adopt"]);
  watch(Committer.prototype, ["run"]);
  await commitUntilKilled(3);
  writeSync(1, "end\n");
} else if (what === "count") await count(Number(number));
else await commitUntilKilled(100_000);
