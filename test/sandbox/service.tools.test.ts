import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "@jest/globals";
import { needs } from "../needs.js";
import { bwrapHere, isRoot, OWNER, processesWith } from "./ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const asRoot = needs(possible && isRoot, possible ? "only root can be somebody else" : reason);
const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

let home = "";
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-service-")));
  chmodSync(home, 0o755);
  mkdirSync(join(home, "root"));
  mkdirSync(join(home, "tmp"), { mode: 0o777 });
  chmodSync(join(home, "tmp"), 0o1777);
  writeFileSync(join(home, "secret"), "SECRET");
  if (isRoot) chownSync(join(home, "root"), OWNER, OWNER);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Service {
  readonly command: string;
  readonly root: object;
  /** Whom it runs as. */
  readonly uid?: number;
  /** A descriptor that it is given and knows nothing of. */
  readonly given?: number;
}

/** A service of its own that runs one command in its only root, at `/workspace`. */
async function serve({ command, root, uid, given }: Service): Promise<unknown> {
  const text = `
    import { createFileAdapter, createSandbox, DEFAULT_SHELL } from ${JSON.stringify(LIBRARY)};
    const adapter = await createFileAdapter({ roots: { r: ${JSON.stringify(root)} } });
    await adapter.invoke("file:write", { root: "r", path: "of-adapter", content: "a" });
    const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, { onWarning: (text) => console.error(text) });
    const running = await adapter.exec({
      sandbox, mounts: [{ root: "r", at: "/workspace" }], argv: ["/bin/sh", "-c", ${JSON.stringify(command)}],
      cwd: "/workspace", env: { PATH: "/usr/bin:/bin" }, timeoutMs: 20000, outputBytes: 10000, keep: "head",
    }).catch((error) => ({ exited: error.code, output: () => ({ stdout: "" }) }));
    const exit = await running.exited;
    console.log(JSON.stringify([exit.exitCode ?? exit, Buffer.from(running.output().stdout).toString()]));
    await adapter.close();
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", text], {
    ...{ cwd: "/", env: { TMPDIR: join(home, "tmp"), SECRET: "in the environment" } },
    // Node itself closes the first few that it is given.
    stdio: [
      "ignore",
      "pipe",
      "inherit",
      ...(given === undefined ? [] : [...Array<"ignore">(37).fill("ignore"), given]),
    ],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let stdout = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  await once(child, "close");
  return JSON.parse(stdout);
}

describe("a service", () => {
  asRoot("that is not root runs commands as itself, in roots of its own and temp roots", async () => {
    const command = "cat of-adapter; touch of-command && id -u";
    const root = { path: join(home, "root") };
    expect(await serve({ command, root, uid: OWNER })).toEqual([0, "a65534\n"]);
    expect(readdirSync(join(home, "root")).sort()).toEqual(["of-adapter", "of-command"]);
    expect(await serve({ command, root: { temp: true }, uid: OWNER })).toEqual([0, "a65534\n"]);
  });

  asRoot("that is root runs none where it would have to be as root", async () => {
    mkdirSync(join(home, "of-root"));
    const outcome = await serve({ command: "echo ran", root: { path: join(home, "of-root") } });
    expect(outcome).toEqual(["NOT_SUPPORTED", ""]);
  });

  test("that is killed takes its commands with it", async () => {
    const text = `
      import { createFileAdapter, createSandbox, DEFAULT_SHELL } from ${JSON.stringify(LIBRARY)};
      const adapter = await createFileAdapter({ roots: { r: { path: ${JSON.stringify(join(home, "root"))} } } });
      await adapter.exec({
        sandbox: await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }), mounts: [{ root: "r", at: "/workspace" }],
        argv: ["setsid", "-w", "sleep", "78.25"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, outputBytes: 1, keep: "head",
      });
      console.log("on");
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", text], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (child.stdout !== null) await once(child.stdout, "data");
    expect(processesWith("78.25")).not.toEqual([]);
    child.kill("SIGKILL");
    while (processesWith("78.25").length > 0) await sleep(20);
  });

  test("gives on nothing that it was given itself", async () => {
    const given = openSync(home, "r");
    const command = "cat /proc/self/fd/*/secret /proc/*/fd/*/secret 2>/dev/null; cat /proc/*/environ | grep -c SECRET";
    expect(await serve({ command, root: { path: join(home, "root") }, given })).toEqual([1, "0\n"]);
  });
});
