// A venue's process with few descriptors, all of which others take in the middle of one change: `node reserve-child.mjs
// <root> <call> <operation> <input>`. <call> is the system call by which the change has begun. Uses the built library.
import fs from "node:fs";

const { createFileAdapter } = await import(new URL("../../dist/index.js", import.meta.url).href);
const [path, call, operation, input] = process.argv.slice(2);
const adapter = await createFileAdapter({ roots: { r: { path, durability: "flush", quota: { files: 1000 } } } });
const invoke = async (name, more) => {
  try {
    return await adapter.invoke(`file:${name}`, { root: "r", ...more });
  } catch ({ code }) {
    return { code };
  }
};
const devices = () =>
  fs.readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`) === "/dev/null";
    } catch {
      return false;
    }
  }).length;

const taken = [];
function takeAll() {
  try {
    for (;;) taken.push(fs.openSync("/"));
  } catch ({ code }) {
    return code;
  }
}
// What these load late is loaded by now; the validator of `read` is not.
await invoke("write", { path: "warm", content: "" });
await invoke("delete", { path: "warm" });
await invoke("copy", { path: "one", to: "two" });
const before = devices();
const real = fs[call];
let found;
fs[call] = (...args) => {
  const result = real(...args);
  if (found === undefined) found = takeAll();
  return result;
};
const answer = await invoke(operation, JSON.parse(input));
fs[call] = real;
takeAll();
const others = await invoke("read", { path: "one" });
for (const fd of taken.splice(0)) fs.closeSync(fd);
await invoke("write", { path: "after", content: "" });
const again = await invoke("read", { path: "after" });
const after = devices();
await adapter.close();
const closed = devices();
process.stdout.write(JSON.stringify({ answer, found, others, again, before, after, closed }));
