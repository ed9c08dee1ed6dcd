#!/usr/bin/env node
import { openEmbeddedStore } from "../dist/drive/store/embedded/embedded.js";
// Drives on the embedded store, beside host roots by the same operations, and beside git, in turn.
import { measureBig } from "./drives/big.mjs";
import { measureImports } from "./drives/imports.mjs";
import { measureMany } from "./drives/many.mjs";
import { measureMerge } from "./drives/merge.mjs";
import { runBench } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";

/** A store of its own for each part. */
const withStore = (measure) => async (context) => {
  const folder = temporaryDirectory();
  const store = await openEmbeddedStore({ path: `${folder}/store`, flush: context.values.flush });
  await measure(context, { store, folder });
  await store.close();
};

const many = (count) => withStore((context, place) => measureMany(context, place, count));
await runBench(
  [
    { name: "100 MiB", run: withStore(measureBig) },
    { name: "10,000 files", run: many(10_000) },
    { name: "100,000 files", run: (context) => (context.quick ? undefined : many(100_000)(context)) },
    { name: "merge", run: measureMerge },
    { name: "imports", run: withStore(measureImports) },
  ],
  {
    own: {
      flush: { type: "boolean", default: false, help: "everything is on the disk before it is answered" },
    },
  },
);
