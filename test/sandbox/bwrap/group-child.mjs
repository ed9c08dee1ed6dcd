// A service in a control group of its own: runs commands, and prints what came of them, and of their groups, as lines of JSON.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter, createSandbox, DEFAULT_SHELL, SHELL_PATH } from "../../../dist/index.js";

const { root, base, commands } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const groups = () => readdirSync(base).filter((name) => name.startsWith("venue-files-run-"));
const file = (...names) => (existsSync(join(base, ...names)) ? readFileSync(join(base, ...names), "utf8").trim() : "");

const warnings = [];
const limits = { ...DEFAULT_SHELL.limits, nproc: 40, data: 64_000_000 };
const shell = { ...DEFAULT_SHELL, driver: "bwrap", limits, scratchBytes: 8_192_000 };
const sandbox = await createSandbox(shell, { onWarning: (text) => warnings.push(text) });
const adapter = await createFileAdapter({ roots: { r: { path: root } } });
say({ warnings, groups: groups(), own: readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)?.[1] });
for (const command of commands) {
  const running = await adapter.exec({
    sandbox,
    ...{ mounts: [{ root: "r", at: "/workspace" }], argv: ["/bin/sh", "-c", command], command },
    ...{ cwd: "/workspace", env: { PATH: SHELL_PATH, HOME: "/workspace" } },
    ...{ timeoutMs: 600_000, outputBytes: 65_536, keep: "head" },
  });
  await running.started;
  const [group = ""] = groups();
  const during = Object.fromEntries(
    ["pids.max", "memory.max", "memory.swap.max"].map((name) => [name, file(group, name)]),
  );
  if (command.startsWith("sleep")) say({ stays: group, ...during });
  const { exitCode } = await running.exited;
  say({ exitCode, stdout: String(running.output().stdout).trim(), during, left: groups() });
}
await adapter.close();
