import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { groupDirectory } from "../../../src/sandbox/bwrap/control-group.js";
import { describeWhere } from "../../needs.js";
import { bwrapHere, isRoot, OWNER } from "../ground.js";

const CHILD = fileURLToPath(new URL("./group-child.mjs", import.meta.url));

/** Top of all control groups, where root may make one that has both controllers. */
async function topHere(): Promise<{ top: string; reason: string }> {
  const bwrap = await bwrapHere();
  if (!bwrap.possible) return { top: "", reason: bwrap.reason };
  if (!isRoot) return { top: "", reason: "only root makes a control group to be delegated" };
  const top = groupDirectory("0::/\n", readFileSync("/proc/self/mountinfo", "utf8"));
  if (top === undefined) return { top: "", reason: "there are no control groups of version 2" };
  const controllers = readFileSync(join(top, "cgroup.controllers"), "utf8").split(/\s+/);
  if (!["pids", "memory"].every((name) => controllers.includes(name))) {
    return { top: "", reason: "control groups of version 2 have no pids and memory controller here" };
  }
  try {
    writeFileSync(join(top, "cgroup.subtree_control"), "+pids +memory");
    return { top, reason: "" };
  } catch {
    return { top: "", reason: "control groups cannot be written here" };
  }
}

const { top, reason } = await topHere();

describeWhere(top !== "", reason)("a run of a service to which a control group is delegated", () => {
  let root = "";
  let base = "";
  const services: ChildProcessWithoutNullStreams[] = [];
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-groups-")));
    chownSync(root, OWNER, OWNER);
    base = join(top, `venue-files-test-${process.pid}`);
    mkdirSync(base);
  });
  afterEach(async () => {
    for (const service of services.splice(0)) await end(service);
    for (const name of groups()) rmdirSync(join(base, name));
    rmdirSync(join(base, "venue-files"));
    rmdirSync(base);
    rmSync(root, { recursive: true });
  });

  const groups = () => readdirSync(base).filter((name) => name.startsWith("venue-files-run-"));

  async function end(service: ChildProcessWithoutNullStreams): Promise<void> {
    if (service.exitCode !== null || service.signalCode !== null) return;
    service.kill("SIGKILL");
    await once(service, "exit");
  }

  /** Starts one in a group, and reads what it says. */
  function serve(commands: readonly string[], group = base) {
    const enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"';
    const given = JSON.stringify({ root, base, commands });
    const service = spawn("/bin/sh", ["-c", enter, group, process.execPath, CHILD, given]);
    services.push(service);
    service.stderr.pipe(process.stderr);
    const lines = createInterface(service.stdout)[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
    return { service, next };
  }

  test("has its own, with limits, which is gone with it", async () => {
    const { next } = serve([
      "head -c 30000000 /dev/zero | tail | tail | wc -c",
      // Each of the two is within what one process may have.
      "head -c 60000000 /dev/zero | tail | tail | wc -c",
      "setsid sleep 1000 & sleep 1000 & exit 3",
    ]);
    const own = `/${base.slice(top.length + 1)}/venue-files`;
    expect(await next()).toEqual({ warnings: [], groups: [], own });
    const during = { "pids.max": "56", "memory.max": "80384000", "memory.swap.max": expect.stringMatching(/^0?$/) };
    const left: string[] = [];
    expect(await next()).toEqual({ exitCode: 0, stdout: "30000000", during, left });
    expect(await next()).toEqual({ exitCode: 0, stdout: expect.not.stringMatching(/^60000000$/), during, left });
    expect(await next()).toMatchObject({ exitCode: 3, left });
  });

  test("leaves none behind that the next start does not remove", async () => {
    const killed = serve(["sleep 1000"]);
    await killed.next();
    const { stays } = (await killed.next()) as { stays: string };
    expect(groups()).toEqual([stays]);
    await end(killed.service);
    expect(existsSync(join(base, stays))).toBe(true);
    // As whatever keeps the service running starts it again.
    const { next } = serve([], join(base, "venue-files"));
    expect(await next()).toMatchObject({ warnings: [], groups: [] });
  });
});
