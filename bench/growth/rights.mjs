// Calls whose cost could depend on how many roots and callers there are.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "venue-files";
import { expectEqual } from "../expect.mjs";
import { temporaryDirectory } from "../lifetime.mjs";

export const rightsSubjects = () => [
  { what: "stat in one of so many roots", sizes: [10, 100, 1_000], isLookUp: true, open: onRoots },
  { what: "stat by one of so many callers with grants", sizes: [100, 1_000, 10_000], isLookUp: true, open: onCallers },
];

async function onRoots(size) {
  const base = temporaryDirectory();
  const roots = {};
  for (let index = 0; index < size; index++) {
    const path = join(base, `r${index}`);
    mkdirSync(path);
    writeFileSync(join(path, "f"), "x");
    roots[`r${index}`] = { path, durability: "none" };
  }
  const adapter = await createFileAdapter({ roots });
  return {
    close: () => adapter.close(),
    async call(index) {
      const { size: bytes } = await adapter.invoke("file:stat", { root: `r${(index * 7) % size}`, path: "f" });
      expectEqual(bytes, 1, "stat");
    },
  };
}

async function onCallers(size) {
  const base = temporaryDirectory();
  writeFileSync(join(base, "f"), "x");
  const didOf = (index) => `did:key:z6Mkcaller${index}`;
  const grants = Array.from({ length: size }, (_, index) => ({
    did: didOf(index),
    with: "file://r/",
    can: "crud/read",
  }));
  const adapter = await createFileAdapter({ roots: { r: { path: base, durability: "none" } }, auth: { grants } });
  return {
    close: () => adapter.close(),
    async call(index) {
      const context = { callerDID: didOf((index * 7) % size), authentication: "identity" };
      const { size: bytes } = await adapter.invoke("file:stat", { root: "r", path: "f" }, context);
      expectEqual(bytes, 1, "stat");
    },
  };
}
