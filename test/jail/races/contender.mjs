// Counts in one file by compare and set, next to others who do: `node contender.mjs <root> <writers> <wins>`.
// Each writer goes on until it has won `wins` times; what was won stands on stdout, a number a line.
import { createFileAdapter } from "../../../dist/index.js";

const [path, writers, wins] = process.argv.slice(2);
const adapter = await createFileAdapter({ roots: { r: { path, durability: "none" } } });
const count = { root: "r", path: "count" };
const won = [];
let refused = 0;

async function compareAndSet() {
  const { content, etag } = await adapter.invoke("file:read", count);
  const next = Number(content) + 1;
  try {
    await adapter.invoke("file:write", { ...count, content: String(next), ifMatch: etag });
    won.push(next);
    return true;
  } catch (error) {
    // Whoever has waited too long for the lock has changed nothing either.
    if (error.code !== "CONFLICT" && error.code !== "TIMEOUT") throw error;
    refused++;
    return false;
  }
}

async function write() {
  for (let left = Number(wins); left > 0; ) if (await compareAndSet()) left--;
}

await Promise.all(Array.from({ length: Number(writers) }, write));
await adapter.close();
process.stdout.write(`${JSON.stringify({ won, refused })}\n`);
