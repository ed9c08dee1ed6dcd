// What `serve` tells systemd, through a `systemd-notify` that writes down what it is given; and the unit of deploy/.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { describeWhere } from "../../needs.js";
import { cleanUp, makeFolder, start } from "../process.js";

afterAll(cleanUp);

const DEPLOY = fileURLToPath(new URL("../../../deploy/", import.meta.url));
const UNIT = join(DEPLOY, "venue-files.service");

test("serve tells when it is ready, reloads, is alive and stops", async () => {
  const folder = makeFolder({
    "bin/systemd-notify": `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> "$(dirname "$0")/../told"\n`,
    told: "",
    "venue.json5": "{ port: 0 }",
  });
  chmodSync(join(folder, "bin/systemd-notify"), 0o755);
  const env = {
    PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`,
    NOTIFY_SOCKET: "/run/it",
    WATCHDOG_USEC: "100000",
  };
  const told = () => readFileSync(join(folder, "told"), "utf8");
  const until = async (pattern: RegExp) => {
    // Below the bound of a test, so that what was told is shown.
    for (let tries = 0; !pattern.test(told()); tries++) {
      if (tries > 1800) throw new Error(`never told: ${pattern}; but:\n${told()}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  const venue = start(["serve", "--config", "venue.json5"], { cwd: folder, env });
  await until(/^\/run\/it --pid=\d+ READY=1 STATUS=Serving http:\/\/localhost:\d+$/m);
  expect(told()).toContain(`--pid=${venue.child.pid} `);
  await until(/ WATCHDOG=1$/m);
  venue.child.kill("SIGHUP");
  await until(/ RELOADING=1 MONOTONIC_USEC=\d+$/m);
  await until(/RELOADING[\s\S]* READY=1 /);
  await venue.stop("SIGTERM");
  expect(told()).toMatch(/ STOPPING=1$/m);
});

function hasSystemd(): boolean {
  try {
    execFileSync("systemd-analyze", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The unit in a folder of its own, with what an operator puts beside it. */
function installed(...dropIns: string[]): string {
  const folder = makeFolder(
    Object.fromEntries(dropIns.map((name) => [`venue-files.service.d/${name}`, readFileSync(join(DEPLOY, name))])),
  );
  const unit = join(folder, "venue-files.service");
  writeFileSync(unit, readFileSync(UNIT));
  return unit;
}

describeWhere(hasSystemd(), "there is no systemd-analyze")("the unit", () => {
  test.each([
    ["", []],
    [" with commands in a sandbox", ["sandbox.conf"]],
  ])("has nothing that systemd does not know%s", (_with, dropIns) => {
    const verify = ["verify", "--man=no", installed(...dropIns)];
    const { stdout, stderr } = spawnSync("systemd-analyze", verify, { encoding: "utf8" });
    // It reads units of this machine, too.
    expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("venue-files"))).toEqual([]);
  });

  test("is as closed as it can be: 2.5 of 10 at most", () => {
    const report = execFileSync("systemd-analyze", ["security", "--offline=yes", UNIT], { encoding: "utf8" });
    const [, level] = /Overall exposure level[^:]*: ([\d.]+)/.exec(report) ?? [];
    expect(Number(level)).toBeLessThanOrEqual(2.5);
  });
});

/** Settings of the unit and of the files beside it, by name; lists that grow are joined. */
const settingsOf = (...names: string[]): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const [, name = "", value = ""] of names
    .map((one) => readFileSync(join(DEPLOY, one), "utf8"))
    .join("\n")
    .matchAll(/^(\w+)=(.*)$/gm)) {
    const grows = /^(?:SystemCallFilter|RestrictAddressFamilies)$/.test(name) && found[name] !== undefined;
    found[name] = grows ? `${found[name]} ${value}` : value;
  }
  return found;
};

test("the unit is told when it listens, has a state of its own, and sees roots alone", () => {
  expect(settingsOf("venue-files.service")).toMatchObject({
    ...{ Type: "notify", DynamicUser: "yes", StateDirectory: "venue-files", ProtectSystem: "strict" },
    ...{ ProtectHome: "tmpfs", NoNewPrivileges: "yes", PrivateTmp: "yes", PrivateDevices: "yes" },
    ...{ RestrictAddressFamilies: "AF_INET AF_INET6 AF_UNIX", SystemCallFilter: "@system-service openat2" },
    ...{ MemoryDenyWriteExecute: "no", LimitNOFILE: "65536", CapabilityBoundingSet: "", RestrictNamespaces: "yes" },
    ...{ WatchdogSec: "60", ExecStart: expect.stringMatching(/ serve --config \/etc\/venue-files\/venue\.json5$/) },
  });
});

test("what allows commands in a sandbox gives namespaces, a /proc that can be mounted, and control groups", () => {
  expect(settingsOf("venue-files.service", "sandbox.conf")).toMatchObject({
    ...{ RestrictNamespaces: "user mnt pid net ipc uts cgroup", SystemCallFilter: "@system-service openat2 @mount" },
    ...{ RestrictAddressFamilies: "AF_INET AF_INET6 AF_UNIX AF_NETLINK", Delegate: "yes", ProtectControlGroups: "no" },
    ...{ ProtectKernelTunables: "no", ProtectKernelLogs: "no", ProcSubset: "all", NoNewPrivileges: "yes" },
  });
});
