// Twenty writers change one file at the same time, and no change is lost: each writes only if the file still is what it
// has read, and reads again if it is not. Run: node examples/compare-and-set.mjs
import assert from "node:assert/strict";
import { createFileAdapter, FileAdapterError } from "venue-files";

const files = await createFileAdapter({ roots: { tmp: { temp: true } } });
const place = { root: "tmp", path: "counter.json" };
let conflicts = 0;

async function increment() {
  for (;;) {
    const { value, etag } = await files.invoke("file:read", { ...place, mode: "json" });
    try {
      return await files.invoke("file:write", { ...place, value: { count: value.count + 1 }, ifMatch: etag });
    } catch (error) {
      if (!(error instanceof FileAdapterError && error.code === "CONFLICT")) throw error;
      conflicts += 1;
    }
  }
}

try {
  await files.invoke("file:write", { ...place, value: { count: 0 } });
  await Promise.all(Array.from({ length: 20 }, increment));
  const { value } = await files.invoke("file:read", { ...place, mode: "json" });
  console.log(`20 increments, ${conflicts} conflicts, count ${value.count}`);
  assert.equal(value.count, 20);
} finally {
  await files.close();
}
