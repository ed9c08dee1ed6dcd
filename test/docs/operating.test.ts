// The commands of docs/operating.md, as an operator would type them one after another.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "@jest/globals";
import { CLI, cleanUp, makeFolder, start } from "../cli/process.js";
import { needs } from "../needs.js";
import { hasShellTools, readPage } from "./page.js";

afterAll(cleanUp);

const COMMANDS = [...readPage("operating.md").matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = ""]) => block.split("\n"))
  .filter((line) => line.startsWith("venue-files "))
  .map((line) => line.replace(/ +#.*/, ""));

needs(hasShellTools, "the page's commands need bash")(
  "every command of the page runs as it stands there",
  async () => {
    const bin = makeFolder({ "venue-files": `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n` });
    chmodSync(join(bin, "venue-files"), 0o755);
    const folder = makeFolder({ "docs/a.txt": "alpha" });
    const elsewhere = makeFolder({ "docs/a.txt": "alpha" });
    const ran = COMMANDS.map((command) => command.split(" ").slice(1, 3).join(" "));
    for (const [at, command] of COMMANDS.entries()) {
      const isRestore = ran[at] === "backup restore";
      const cwd = isRestore ? elsewhere : folder;
      const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: cwd, PASSPHRASE: "correct horse battery" };
      if (isRestore) copyFileSync(join(folder, "venue.backup"), join(elsewhere, "venue.backup"));
      if (ran[at] === "serve --config") {
        const venue = start(command.split(" ").slice(1), { cwd, env });
        await venue.until(/Stop with Ctrl-C/);
        expect(await venue.stop()).toMatchObject({ status: 0 });
        continue;
      }
      const { status, stderr } = spawnSync("bash", ["-c", command], { cwd, env, encoding: "utf8" });
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: "" });
      if (ran[at] !== "init --root") continue;
      // Any free port, and drives that last.
      const config = readFileSync(join(folder, "venue.json5"), "utf8");
      writeFileSync(join(folder, "venue.json5"), config.replace("// port: 8080,", 'port: 0, seedFile: "./seed",'));
      copyFileSync(join(folder, "venue.json5"), join(elsewhere, "venue.json5"));
    }
    expect(ran).toEqual(
      expect.arrayContaining(["init --root", "check --config", "serve --config", "backup create", "backup restore"]),
    );
  },
  120_000,
);
