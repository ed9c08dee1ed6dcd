#!/usr/bin/env node
// What one command costs, beside the bare bubblewrap that runs nothing with the same view: medians of rounds in turn.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createFileAdapter, createSandbox, DEFAULT_SHELL } from "venue-files";
import { describeMachine } from "./machine.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const rounds = values.quick ? 5 : 31;
const TARGET = 5;
/** Most milliseconds that what must be hidden, or passed by, adds to a command in a small root. */
const MAX_MORE_MS = 1_000;
const USER = 12_345;
const isRoot = process.geteuid() === 0;

const home = mkdtempSync(join(tmpdir(), "venue-files-bench-"));
chmodSync(home, 0o755);
const own = (path) => isRoot && chownSync(path, USER, USER);
for (const name of ["small", "large", "denied", "masked", "deep"]) {
  mkdirSync(join(home, name));
  own(join(home, name));
}
for (let index = 0; index < 5000; index++) {
  if (index % 50 === 0) mkdirSync(join(home, `large/${index}`));
  writeFileSync(join(home, `large/${index - (index % 50)}/${index}.txt`), "x");
}
mkdirSync(join(home, "denied/a"));
writeFileSync(join(home, "denied/a/.env"), "x");
for (let index = 0; index < 1000; index++) {
  mkdirSync(join(home, `masked/${index}`));
  writeFileSync(join(home, `masked/${index}/.env`), "x");
}
// One step at a time: the whole path is longer than the system takes.
const start = process.cwd();
process.chdir(join(home, "deep"));
for (let level = 0; level < 1500; level++) {
  mkdirSync("d");
  process.chdir("d");
}
process.chdir(start);

const roots = {
  ...Object.fromEntries(["small", "large"].map((name) => [name, { path: join(home, name) }])),
  ...Object.fromEntries(
    ["denied", "masked", "deep"].map((name) => [name, { path: join(home, name), deny: ["@secrets"] }]),
  ),
};
const adapter = await createFileAdapter({ roots });
const bwrap = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, { onWarning: console.error });
const justBash = await createSandbox({ ...DEFAULT_SHELL, driver: "just-bash" }, { onWarning: () => {} });

const LINKS = ["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]);
const BARE = [
  ...["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"],
  ...["--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", ...LINKS, "--proc", "/proc", "--dev", "/dev"],
  ...["--size", "67108864", "--tmpfs", "/tmp", "--bind", join(home, "small"), "/workspace", "--remount-ro", "/"],
  ...["--chdir", "/workspace", "--clearenv", "true"],
];

async function bare() {
  const user = isRoot ? { uid: USER, gid: USER } : {};
  const child = spawn("/usr/bin/bwrap", BARE, { env: {}, cwd: "/", stdio: ["ignore", "pipe", "pipe"], ...user });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error("the bare bubblewrap does not run");
}

const command = (root, sandbox) => async () => {
  const running = await adapter.exec({
    ...{ sandbox, mounts: [{ root, at: "/workspace" }], argv: ["/bin/sh", "-c", "true"], cwd: "/workspace" },
    ...{ env: { PATH: "/usr/bin:/bin" }, timeoutMs: 30_000, outputBytes: 1_048_576, keep: "head" },
  });
  const { exitCode } = await running.exited;
  if (exitCode !== 0) throw new Error("a command does not run");
};

const subjects = [
  ["bare bwrap … true", bare],
  ["command, small root", command("small", bwrap), { ratio: TARGET }],
  ["command, root with something denied", command("denied", bwrap)],
  ["command, 1,000 denied entries", command("masked", bwrap), { moreMs: MAX_MORE_MS }],
  ["command, 1,500 nested directories", command("deep", bwrap), { moreMs: MAX_MORE_MS }],
  ["command, root of 5,000 files", command("large", bwrap)],
  ["command in just-bash", command("small", justBash)],
];

/** Says whether a target is reached, and sets the exit code if not. */
function judge(target, { ratio, moreMs }) {
  if (target === undefined) return "";
  const isReached = target.ratio === undefined ? moreMs <= target.moreMs : ratio <= target.ratio;
  if (!isReached) process.exitCode = 1;
  const bar = target.ratio === undefined ? `${target.moreMs} ms more than a small root` : `${target.ratio}x`;
  return `  target ${bar}: ${isReached ? "reached" : "MISSED"}`;
}

const median = (samples) => [...samples].sort((a, b) => a - b)[samples.length >> 1];
const times = subjects.map(() => []);
try {
  if (!(await bwrap.probe()).available) throw new Error("there is no bubblewrap here");
  for (const [, run] of subjects) await run();
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, run]] of subjects.entries()) {
      const start = performance.now();
      await run();
      times[index].push(performance.now() - start);
    }
  }
  const { cpu, cores, kernel, node, load } = describeMachine(home);
  console.log(`${cpu}, ${cores} cores, ${kernel}, Node ${node}, load ${load.toFixed(1)}, ${rounds} rounds\n`);
  const [base, small] = times.map(median);
  for (const [index, [name, , target]] of subjects.entries()) {
    const ms = median(times[index]);
    const said = judge(target, { ratio: ms / base, moreMs: ms - small });
    console.log(`${name.padEnd(38)} ${ms.toFixed(1).padStart(7)} ms ${(ms / base).toFixed(2).padStart(6)}x${said}`);
  }
} finally {
  await adapter.close();
  rmSync(home, { recursive: true, force: true });
}
