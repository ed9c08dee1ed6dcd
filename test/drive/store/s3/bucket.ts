import type { Clock } from "../../../../src/core/clock.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import type { DriveEngine } from "../../../../src/drive/engine/engine.js";
import type { CellStore } from "../../../../src/drive/store/cell-store.js";
import type { ObjectStoreOptions } from "../../../../src/drive/store/s3/object-store.js";
import { ALICE, clockAt, openEngine } from "../../engine/engines.js";
import { type FakeRequest, type FakeS3, type Fault, startFakeS3 } from "./fake-s3.js";
import { storesOn } from "./stores.js";

/** A venue of its own on the bucket, as far as drives go. */
export interface Venue {
  readonly engine: DriveEngine;
  readonly store: CellStore;
}

/** A bucket, and venues that share it. */
export interface Bucket {
  readonly fake: FakeS3;
  readonly clock: ReturnType<typeof clockAt>;
  /** @param clock of the engine; by default that of the bucket, which stands still */
  venue(options?: Partial<ObjectStoreOptions>, clock?: Clock): Promise<Venue>;
  open(): Promise<CellStore>;
  keysOf(folder: string): string[];
  /** Of all owners, without them. */
  rootNames(): string[];
  /** What happens to the puts of roots, one after the other. */
  faultyPuts(...faults: readonly Fault[]): void;
  dispose(): Promise<void>;
}

export async function openBucket(): Promise<Bucket> {
  const fake = await startFakeS3();
  const clock = clockAt(1_700_000_000_000);
  fake.now = clock.nowMs;
  const stores = storesOn(fake.endpoint, { now: clock.nowMs });
  const engines: DriveEngine[] = [];
  const keysOf = (folder: string): string[] => [...fake.objects.keys()].filter((key) => key.startsWith(folder));
  return {
    fake,
    clock,
    async venue(options, own = clock) {
      const store = await stores.open(options);
      const engine = openEngine({ store, clock: own, log: silentLog });
      engines.push(engine);
      return { engine, store };
    },
    open: () => stores.open(),
    keysOf,
    rootNames: () => keysOf("roots/").map((key) => key.split("/")[2] ?? ""),
    faultyPuts(...faults) {
      const left = [...faults];
      fake.fault = (request) => (isRootPut(request) ? left.shift() : undefined);
    },
    async dispose() {
      fake.fault = undefined;
      await Promise.all(engines.map((engine) => engine.close()));
      await stores.dispose();
      await fake.close();
    },
  };
}

export const isRootPut = ({ method, key }: FakeRequest): boolean => method === "PUT" && key.startsWith("roots/");

export const append = ({ engine }: Venue, text: string, did = ALICE): Promise<unknown> =>
  engine.owner(did).change("notes", (draft) => draft.appendFile(["log"], Buffer.from(text)));

export async function logOf({ engine }: Venue, did = ALICE): Promise<string> {
  const snapshot = await engine.owner(did).read("notes");
  try {
    return (await snapshot.readFile(["log"], 0, 1 << 20)).bytes.toString();
  } finally {
    snapshot.release();
  }
}

export async function namesIn({ engine }: Venue, path: readonly string[]): Promise<string[]> {
  const snapshot = await engine.owner(ALICE).read("notes");
  try {
    return (await snapshot.entries(path)).map(({ name }) => name);
  } finally {
    snapshot.release();
  }
}
