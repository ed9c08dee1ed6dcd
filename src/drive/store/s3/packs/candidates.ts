// Record of objects that are candidates for deletion.

import { randomBytes } from "node:crypto";
import type { S3Client } from "../client/s3-client.js";

/** Objects that nothing needed at a collection, recorded as `gc/<ms>-<random>`. */
export interface Candidates {
  /** When each object was first found unneeded, in milliseconds since 1970. */
  readonly since: ReadonlyMap<string, number>;
  /** Keeps only the recorded objects for which `stays` is true, and adds others. */
  update(stays: (key: string) => boolean, added: readonly string[]): Promise<void>;
}

const NAME = /^gc\/(\d{13})-[0-9a-f]{16}$/;
const KEY = /^(?:packs\/[0-9a-f]{64}\.pack|manifests\/[0-9a-f]{64})$/;
const MAX_KEYS = 10_000;
const MAX_OBJECT_BYTES = MAX_KEYS * 96;
const MAX_LISTS = 1000;

export async function readCandidates(client: S3Client, now: () => number): Promise<Candidates> {
  const lists = new Map<string, readonly string[]>();
  const since = new Map<string, number>();
  for await (const { key: name } of client.objects("gc/")) {
    const at = NAME.exec(name)?.[1];
    if (at === undefined || lists.size >= MAX_LISTS) continue;
    const found = await client.get(name, MAX_OBJECT_BYTES);
    const keys = (found?.bytes.toString("latin1") ?? "").split("\n").filter((key) => KEY.test(key));
    lists.set(name, keys);
    for (const key of keys) since.set(key, Math.min(since.get(key) ?? Number.POSITIVE_INFINITY, Number(at)));
  }
  const put = (name: string, keys: readonly string[]): Promise<void> =>
    client.put(name, Buffer.from(keys.map((key) => `${key}\n`).join("")));
  return {
    since,
    async update(stays, added) {
      for (let at = 0; at < added.length; at += MAX_KEYS) {
        const name = `gc/${String(now()).padStart(13, "0")}-${randomBytes(8).toString("hex")}`;
        await put(name, added.slice(at, at + MAX_KEYS));
      }
      for (const [name, keys] of lists) {
        const left = keys.filter(stays);
        if (left.length === 0) await client.remove(name);
        else if (left.length < keys.length) await put(name, left);
      }
    },
  };
}
