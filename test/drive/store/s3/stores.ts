import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CellStore } from "../../../../src/drive/store/cell-store.js";
import { type ObjectStoreOptions, openObjectStore } from "../../../../src/drive/store/s3/object-store.js";
import { BUCKET, CREDENTIALS, REGION } from "./fake-s3.js";

/** Tries that do not last. */
export const IMPATIENT = { tries: 4, waitMs: 5, timeoutMs: 60_000 };

export interface Stores {
  /** Another process, as far as the bucket can tell. */
  open(options?: Partial<ObjectStoreOptions>): Promise<CellStore>;
  dispose(): Promise<void>;
}

export function storesOn(endpoint: string, more: Partial<ObjectStoreOptions> = {}): Stores {
  const folder = mkdtempSync(join(tmpdir(), "vf-s3-"));
  const opened: CellStore[] = [];
  return {
    async open(options = {}) {
      const store = await openObjectStore({
        ...{ endpoint, bucket: BUCKET, region: REGION, credentials: CREDENTIALS, patience: IMPATIENT },
        cachePath: join(folder, String(opened.length)),
        ...more,
        ...options,
      });
      opened.push(store);
      return store;
    },
    async dispose() {
      await Promise.all(opened.map((store) => store.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
