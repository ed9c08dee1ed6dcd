// The bare framework over node:fs/promises, whose system calls run in the thread pool: `{ list: PATH }` answers names with sizes and times,
// `{ tree: PATH }` all names below. No jail, no rights, no job, no audit.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import Fastify from "fastify";

const [, , root] = process.argv;

async function list(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const look = async ({ name }) => {
    const stat = await lstat(join(folder, name));
    return { name, type: stat.isDirectory() ? "directory" : "file", size: stat.size, modified: stat.mtime };
  };
  return (await Promise.all(entries.map(look))).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function tree(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const below = async (entry) => ({
    name: entry.name,
    ...(entry.isDirectory() ? { entries: await tree(join(folder, entry.name)) } : {}),
  });
  return (await Promise.all(entries.map(below))).sort((a, b) => (a.name < b.name ? -1 : 1));
}

const app = Fastify();
app.post("/api/v1/invoke", async ({ body: { input } }, reply) => {
  const entries =
    input.maxDepth === undefined ? await list(join(root, input.path)) : await tree(join(root, input.path));
  return reply.code(201).send({ output: { entries } });
});
const url = await app.listen({ port: 0, host: "127.0.0.1" });
process.stdout.write(`It listens on ${url}\n`);
process.on("SIGTERM", () => process.exit(0));
