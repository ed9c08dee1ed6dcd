#!/usr/bin/env node
// A cold session, as agents have them: the server starts, lists its tools, and answers some calls in the default configuration
// (journal on, flushed). Processor time and time until the answer, of whole sessions by turns, as ratios to server-filesystem.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectRaw, SERVERS } from "./clients.mjs";
import { expectEqual, textOf } from "./expect.mjs";
import { KB, makeText } from "./fixture.mjs";
import { runBench, table } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { CLI } from "./processes.mjs";
import { inTurns, median } from "./timing.mjs";

/** When a session is measured, after so many calls of tools, and what its processor time may be there, of that of server-filesystem. */
const MARKS = [
  { name: "`initialize`", calls: -1, most: 0.6 },
  { name: "`tools/list`", calls: 0, most: 0.6 },
  ...Object.entries({ 12: 0.75, 60: 0.85, 250: 1 }).map(([calls, most]) => ({
    name: `${calls} calls`,
    calls: Number(calls),
    most,
  })),
];
/** Ten calls as agents mix them. */
const MIX = ["read", "stat", "read", "list", "read", "edit", "read", "stat", "write", "read"];
const TICK_MS = 10;
const FILES = 20;

const ours = (cli) => ({
  args: (root) => [cli, "mcp", "--root", `bench=${root}`],
  read: (_, name) => ["file_read", { path: `src/${name}` }],
  stat: (_, name) => ["file_stat", { path: `src/${name}` }],
  list: () => ["file_list", { path: "src" }],
  edit: (_, name, edit) => ["file_edit", { path: `src/${name}`, edits: [edit] }],
  write: (_, name, __, content) => ["file_write", { path: `out-${name}`, content }],
});
const theirs = (server) => ({
  args: (root) => SERVERS[server]({ root }),
  read: (root, name) => ["read_text_file", { path: `${root}/src/${name}` }],
  stat: (root, name) => ["get_file_info", { path: `${root}/src/${name}` }],
  list: (root) => ["list_directory", { path: `${root}/src` }],
  edit: (root, name, edit) => ["edit_file", { path: `${root}/src/${name}`, edits: [edit] }],
  write: (root, name, _, content) => ["write_file", { path: `${root}/out-${name}`, content }],
});

/** Processor time of a process and of those that it started, in ms. */
function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean),
  );
  return children.reduce((sum, child) => sum + processorMs(child), own);
}

/** One session. @returns for each mark its times in ms */
async function session(subject) {
  const base = temporaryDirectory();
  const root = join(base, "root");
  mkdirSync(join(root, "src"), { recursive: true });
  for (let file = 0; file < FILES; file++)
    writeFileSync(join(root, "src", `${file}.txt`), `version 0\n${makeText(KB, file)}`);
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

async function measureSessions({ values, quick, report }) {
  const subjects = {
    "server-filesystem": theirs("theirs"),
    floor: theirs("floor"),
    ...(values.before && { before: ours(values.before) }),
    "venue-files": ours(CLI),
  };
  const names = Object.keys(subjects);
  const forms = names.map((name) => [name, () => session(subjects[name])]);
  // In the first round files come into the cache of the system.
  await inTurns(1, Object.fromEntries(forms));
  const found = await inTurns(quick ? 1 : 9, Object.fromEntries(forms));
  const middle = (name, mark, key) => median(found[name].map((marks) => marks[mark][key]));
  for (const key of ["processor", "wall"]) {
    const lines = MARKS.map(({ name: until, most }, mark) => {
      const reference = middle("server-filesystem", mark, key);
      const ratios = names.slice(1).map((name) => (middle(name, mark, key) / reference).toFixed(2));
      const bar = key === "processor" ? most : undefined;
      const isMet = bar === undefined || Number(ratios.at(-1)) <= bar;
      report.measured.push({ what: `${key} time until ${until}`, reference, ratios, isMet });
      return [until, `${reference.toFixed(0)} ms`, ...ratios, bar ?? ""];
    });
    process.stdout.write(`${table([[`${key} time until`, ...names, "at most"], ...lines])}\n`);
  }
}

await runBench([{ name: "sessions", run: measureSessions }], {
  own: {
    before: { type: "string", help: "dist/cli.js of another build of ours, which takes part" },
  },
});
