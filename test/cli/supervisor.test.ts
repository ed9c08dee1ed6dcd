// What `serve` tells systemd, through a `systemd-notify` that writes down what it is given; and the unit of deploy/.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { needs } from "../needs.js";
import { cleanUp, makeFolder, start } from "./process.js";

afterAll(cleanUp);

const UNIT = fileURLToPath(new URL("../../deploy/venue-files.service", import.meta.url));

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
    for (let tries = 0; !pattern.test(told()); tries++) {
      if (tries > 400) throw new Error(`never told: ${pattern}; but:\n${told()}`);
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

needs(hasSystemd(), "there is no systemd-analyze")("the unit is as closed as it can be: 2.5 of 10 at most", () => {
  const report = execFileSync("systemd-analyze", ["security", "--offline=yes", UNIT], { encoding: "utf8" });
  const [, level] = /Overall exposure level[^:]*: ([\d.]+)/.exec(report) ?? [];
  expect(Number(level)).toBeLessThanOrEqual(2.5);
});
