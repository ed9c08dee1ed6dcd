#!/usr/bin/env node
// A cold session, as agents have them: the server starts, lists its tools, and answers some calls in the default configuration
// (journal on, flushed). Processor time and time until the answer, of whole sessions by turns, as ratios to server-filesystem.
// `--before CLI` has another build of ours take part (its dist/cli.js); `--rounds N`.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { connectRaw, SERVERS } from "./clients.mjs";
import { expectEqual, textOf } from "./expect.mjs";
import { KB, makeText } from "./fixture.mjs";
import { cleanUp, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { median } from "./measure.mjs";

const { values: options } = parseArgs({
  options: { before: { type: "string" }, rounds: { type: "string", default: "9" } },
});
/** Calls after which the session is measured; 0 is `tools/list`. */
const MARKS = [0, 12, 60, 250];
/** Ten calls as agents mix them. */
const MIX = ["read", "stat", "read", "list", "read", "edit", "read", "stat", "write", "read"];
const TICK_MS = 10;
const FILES = 20;

const ours = (root, cli) => [cli ?? SERVERS.ours({})[0], "mcp", "--root", `bench=${root}`];
const FORMS = {
  ours: {
    read: (_, name) => ["file_read", { path: `src/${name}` }],
    stat: (_, name) => ["file_stat", { path: `src/${name}` }],
    list: () => ["file_list", { path: "src" }],
    edit: (_, name, [oldText, newText]) => ["file_edit", { path: `src/${name}`, edits: [{ oldText, newText }] }],
    write: (_, name, __, content) => ["file_write", { path: `out-${name}`, content }],
  },
  theirs: {
    read: (root, name) => ["read_text_file", { path: `${root}/src/${name}` }],
    stat: (root, name) => ["get_file_info", { path: `${root}/src/${name}` }],
    list: (root) => ["list_directory", { path: `${root}/src` }],
    edit: (root, name, [oldText, newText]) => [
      "edit_file",
      { path: `${root}/src/${name}`, edits: [{ oldText, newText }] },
    ],
    write: (root, name, _, content) => ["write_file", { path: `${root}/out-${name}`, content }],
  },
};
const SUBJECTS = {
  "server-filesystem": { args: (root) => SERVERS.theirs({ root }), form: FORMS.theirs },
  floor: { args: () => SERVERS.floor({}), form: FORMS.theirs },
  ...(options.before && { before: { args: (root) => ours(root, options.before), form: FORMS.ours } }),
  "venue-files": { args: (root) => ours(root), form: FORMS.ours },
};

/** Processor time of a process and of those that it started, in ms. */
function processorMs(pid) {
  const own = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  const ended = own.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean),
  );
  return children.reduce((sum, child) => sum + processorMs(child), ended);
}

/** One session. @returns for each mark its times in ms */
async function session({ args, form }, base) {
  const root = join(base, "root");
  mkdirSync(join(root, "src"), { recursive: true });
  for (let file = 0; file < FILES; file++)
    writeFileSync(join(root, "src", `${file}.txt`), `version 0\n${makeText(KB, file)}`);
  const started = performance.now();
  const env = { ...process.env, HOME: base, XDG_STATE_HOME: join(base, "state") };
  const server = await connectRaw(args(root), { env });
  await server.request("tools/list", {});
  const marks = [];
  const versions = new Map();
  for (let count = 0; count <= MARKS.at(-1); count++) {
    if (count > 0) await call(server, { form, root, versions, count: count - 1 });
    if (MARKS.includes(count)) marks.push({ wall: performance.now() - started, processor: processorMs(server.pid) });
  }
  await server.close();
  rmSync(base, { recursive: true, force: true });
  return marks;
}

async function call(server, { form, root, versions, count }) {
  const kind = MIX[count % MIX.length];
  const name = `${count % FILES}.txt`;
  const version = versions.get(name) ?? 0;
  const content = makeText(KB, count);
  const [tool, input] = form[kind](root, name, [`version ${version}\n`, `version ${version + 1}\n`], content);
  textOf(await server.tool(tool, input), kind);
  if (kind === "edit") versions.set(name, version + 1);
  if (kind === "edit")
    expectEqual(readFileSync(join(root, "src", name), "utf8").split("\n")[0], `version ${version + 1}`, "The edit");
  if (kind === "write") expectEqual(readFileSync(join(root, `out-${name}`), "utf8"), content, "The write");
}

try {
  const folder = temporaryDirectory();
  const results = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, []]));
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const [name, subject] of Object.entries(SUBJECTS)) {
      const marks = await session(subject, join(folder, `${round}-${name}`));
      // In the first round files come into the cache of the system.
      if (round > 0) results[name].push(marks);
    }
  }
  const middle = (name, mark, key) => median(results[name].map((marks) => marks[mark][key]));
  const { cpu, node, load, fileSystem } = describeMachine(folder);
  process.stdout.write(
    `Medians of ${options.rounds} sessions on ${cpu}, ${node}, ${fileSystem}, load ${load.toFixed(1)}\n\n`,
  );
  for (const key of ["processor", "wall"]) {
    process.stdout.write(
      `| ${key} time until | ${Object.keys(SUBJECTS).join(" | ")} |\n|${"---|".repeat(1 + Object.keys(SUBJECTS).length)}\n`,
    );
    MARKS.forEach((calls, mark) => {
      const cells = Object.keys(SUBJECTS).map((name, index) => {
        const ms = middle(name, mark, key);
        return index === 0 ? `${ms.toFixed(0)} ms` : (ms / middle("server-filesystem", mark, key)).toFixed(2);
      });
      process.stdout.write(`| ${calls === 0 ? "`tools/list`" : `${calls} calls`} | ${cells.join(" | ")} |\n`);
    });
    process.stdout.write("\n");
  }
} finally {
  cleanUp();
}
