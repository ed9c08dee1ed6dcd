#!/usr/bin/env node
// A cold session, as agents have them: the server starts, lists its tools, and answers some calls in the default configuration
// (journal on, flushed). Processor time and time until the answer, of whole sessions by turns, as ratios to server-filesystem.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connectRaw, SERVERS } from "./clients.mjs";
import { expectEqual, textOf } from "./expect.mjs";
import { KB, makeText } from "./fixture.mjs";
import { runBench, shown, times } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { processorMs } from "./machine.mjs";
import { CLI } from "./processes.mjs";
import { inTurns, median } from "./timing.mjs";

/** When a session is measured, after so many calls of tools, and what its processor time may be there, of that of server-filesystem. */
const MARKS = [
  { name: "`initialize`", calls: -1, most: 0.6 },
  { name: "`tools/list`", calls: 0, most: 0.6 },
  { name: "12 calls", calls: 12, most: 0.75 },
  { name: "60 calls", calls: 60, most: 0.85 },
  { name: "250 calls", calls: 250, most: 1 },
];
/** Ten calls as agents mix them. */
const MIX = ["read", "stat", "read", "list", "read", "edit", "read", "stat", "write", "read"];
const FILES = 20;

const ours = {
  args: (root) => [CLI, "mcp", "--root", `bench=${root}`],
  read: (_, name) => ["file_read", { path: `src/${name}` }],
  stat: (_, name) => ["file_stat", { path: `src/${name}` }],
  list: () => ["file_list", { path: "src" }],
  edit: (_, name, edit) => ["file_edit", { path: `src/${name}`, edits: [edit] }],
  write: (_, name, __, content) => ["file_write", { path: `out-${name}`, content }],
};
const theirs = (server) => ({
  args: (root) => SERVERS[server]({ root }),
  read: (root, name) => ["read_text_file", { path: `${root}/src/${name}` }],
  stat: (root, name) => ["get_file_info", { path: `${root}/src/${name}` }],
  list: (root) => ["list_directory", { path: `${root}/src` }],
  edit: (root, name, edit) => ["edit_file", { path: `${root}/src/${name}`, edits: [edit] }],
  write: (root, name, _, content) => ["write_file", { path: `${root}/out-${name}`, content }],
});

/** One session. @returns for each mark its times in ms */
async function session(subject) {
  const names = Array.from({ length: FILES }, (_, file) => [
    `root/src/${file}.txt`,
    `version 0\n${makeText(KB, file)}`,
  ]);
  const base = temporaryDirectory(Object.fromEntries(names));
  const root = join(base, "root");
  const started = performance.now();
  const env = { ...process.env, HOME: base, XDG_STATE_HOME: join(base, "state") };
  const server = await connectRaw(subject.args(root), { env });
  const marks = [];
  const versions = new Map();
  for (let count = -1; count <= MARKS.at(-1).calls; count++) {
    if (count === 0) await server.request("tools/list", {});
    if (count > 0) await call(server, { subject, root, versions, count: count - 1 });
    if (MARKS.some(({ calls }) => calls === count))
      marks.push({ wall: performance.now() - started, processor: processorMs(server.pid) });
  }
  await server.close();
  rmSync(base, { recursive: true, force: true });
  return marks;
}

async function call(server, { subject, root, versions, count }) {
  const kind = MIX[count % MIX.length];
  const name = `${count % FILES}.txt`;
  const version = versions.get(name) ?? 0;
  const content = makeText(KB, count);
  const edit = { oldText: `version ${version}\n`, newText: `version ${version + 1}\n` };
  const [tool, input] = subject[kind](root, name, edit, content);
  textOf(await server.tool(tool, input), kind);
  if (kind === "edit") {
    versions.set(name, version + 1);
    expectEqual(readFileSync(join(root, "src", name), "utf8").split("\n")[0], `version ${version + 1}`, "The edit");
  }
  if (kind === "write") expectEqual(readFileSync(join(root, `out-${name}`), "utf8"), content, "The write");
}

async function measureSessions({ quick, row }) {
  const forms = {
    theirs: () => session(theirs("theirs")),
    floor: () => session(theirs("floor")),
    ours: () => session(ours),
  };
  // In the first round files come into the cache of the system.
  await inTurns(1, forms);
  const found = await inTurns(quick ? 1 : 9, forms);
  for (const [mark, { name, most }] of MARKS.entries()) {
    const middle = (form, key) => median(found[form].map((marks) => marks[mark][key]));
    const ratio = (form, key) => middle(form, key) / middle("theirs", key);
    const reference = `server-filesystem ${shown(middle("theirs", "processor"), "ms")}`;
    const beside = `${reference}; the least in Node ${times(ratio("floor", "processor"))}; time until the answer ${times(ratio("ours", "wall"))}`;
    row({ what: `processor time until ${name}`, value: ratio("ours", "processor"), unit: "x", beside, most });
  }
}

await runBench([{ name: "sessions", run: measureSessions }]);
