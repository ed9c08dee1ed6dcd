// A long file and a large folder, a page at a time: each answer says where the next one begins.
// Run: node examples/pages.mjs
import assert from "node:assert/strict";
import { createFileAdapter } from "venue-files";

const files = await createFileAdapter({ roots: { tmp: { temp: true } } });
try {
  const log = Array.from({ length: 1000 }, (_, at) => `line ${at + 1}\n`).join("");
  await files.invoke("file:write", { root: "tmp", path: "app.log", content: log });
  let text = "";
  let pages = 0;
  for (let line = 1; line !== undefined; pages += 1) {
    const page = await files.invoke("file:read", { root: "tmp", path: "app.log", line, limit: 300 });
    text += page.content;
    line = page.nextLine;
  }
  console.log(`${pages} pages, ${text.length} characters`);
  assert.equal(text, log);

  for (let at = 0; at < 25; at += 1)
    await files.invoke("file:write", { root: "tmp", path: `many/${at}.txt`, content: "", parents: true });
  const names = [];
  for (let offset = 0, truncated = true; truncated; offset = names.length) {
    const page = await files.invoke("file:list", { root: "tmp", path: "many", offset, limit: 10 });
    names.push(...page.entries.map(({ name }) => name));
    truncated = page.truncated;
  }
  console.log(`${names.length} entries, from ${names[0]} to ${names.at(-1)}`);
  assert.equal(new Set(names).size, 25);
} finally {
  await files.close();
}
