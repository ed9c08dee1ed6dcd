// An adapter in a process of its own, told what to do by lines of JSON: `node adapter-child.mjs <options>`.
// It uses the built library, as plain node runs it; options: { config, uid?, gid?, umask? }.
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

const built = new URL("../../dist/index.js", import.meta.url);
if (!existsSync(built)) {
  process.stderr.write("dist/ is missing: run `npm run build` first (`npm test` does)\n");
  process.exit(1);
}
const options = JSON.parse(process.argv[2] ?? "{}");
// Everything is loaded before rights are given up: the installation may be closed to others.
const { createFileAdapter } = await import(built.href);
if (options.umask !== undefined) process.umask(options.umask);
if (options.gid !== undefined) {
  process.setgroups([]);
  process.setgid(options.gid);
}
if (options.uid !== undefined) process.setuid(options.uid);

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

async function answer({ id, operation, input }) {
  try {
    say({ id, output: await adapter.invoke(`file:${operation}`, input) });
  } catch ({ code, message, data }) {
    say({ id, error: { code, message, data } });
  }
}

let adapter;
try {
  adapter = await createFileAdapter(options.config);
} catch (error) {
  say({ failed: error.message });
  process.exit(0);
}
say({ ready: true, warnings: adapter.warnings });
const calls = new Set();
for await (const line of createInterface({ input: process.stdin })) {
  const call = answer(JSON.parse(line));
  calls.add(call);
  void call.finally(() => calls.delete(call));
}
await Promise.all(calls);
await adapter.close();
