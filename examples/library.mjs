// The operations in your own process, without a server: one agent that may read a folder and write in another.
// Run: node examples/library.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileAdapter, FileAdapterError } from "venue-files";

const docs = await mkdtemp(join(tmpdir(), "library-"));
await writeFile(join(docs, "guide.md"), "# Guide\n\nOne.\nTwo.\n");
const files = await createFileAdapter({ roots: { docs: { path: docs }, out: { temp: true } } });

// Without `caps` a call has all rights. This list goes with every call that is made for the agent.
const agent = {
  caps: [
    { with: "file://docs/", can: "crud/read" },
    { with: "file://out/", can: "crud" },
  ],
};
try {
  const { content, nextLine } = await files.invoke(
    "file:read",
    { root: "docs", path: "guide.md", line: 3, limit: 1 },
    agent,
  );
  console.log(`Line 3: ${content.trimEnd()} (more from line ${nextLine})`);
  assert.equal(content, "One.\n");

  await files.invoke("file:write", { root: "out", path: "a/b/summary.md", content: "Short.\n", parents: true }, agent);
  const { tree } = await files.invoke("file:tree", { root: "out" }, agent);
  console.log(tree);
  assert.equal(tree, "out/\n\ta/\n\t\tb/\n\t\t\tsummary.md\n");

  const denied = await files.invoke("file:delete", { root: "docs", path: "guide.md" }, agent).catch((error) => error);
  assert(denied instanceof FileAdapterError);
  console.log(denied.code);
  assert.equal(denied.code, "CAPABILITY_DENIED");
} finally {
  await files.close();
  await rm(docs, { recursive: true });
}
