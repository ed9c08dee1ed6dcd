import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { needs } from "../needs.js";
import { runHere } from "./in-process.js";
import { cleanUp, makeFolder, serve, start } from "./process.js";

afterAll(cleanUp);

const isLinux = process.platform === "linux";
const SEED = "11".repeat(32);
const ELSEWHERE = "Set 'stateDir' to a folder that can be written, or to false";

describe("the state directory", () => {
  needs(isLinux, "only Linux has /proc")("that cannot be made ends the start, and says why", async () => {
    const { status, stdout, stderr } = await runHere(["serve", "--port", "0"], { env: { HOME: "/proc" } });
    const path = "/proc/.local/state/venue-files";
    expect({ status, stdout }).toEqual({ status: 66, stdout: "" });
    expect(stderr).toBe(`'stateDir' cannot be used: no folder can be made there (ENOENT): ${path}. ${ELSEWHERE}\n`);
  });

  needs(isLinux, "only Linux has /proc")("is not asked for where nothing needs it", async () => {
    const config = `{ seed: "${SEED}", auth: { localToken: false, ucan: { revocations: "revoked" } } }`;
    const folder = makeFolder({ "venue.json5": config, revoked: "" });
    const served = await serve(["--config", "venue.json5"], { cwd: folder, env: { HOME: "/proc" } });
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    expect(await served.stop()).toMatchObject({ status: 0, stderr: "" });
  });

  test.each([
    ["VENUE_FILES_STATE_DIR", "own"],
    ["STATE_DIRECTORY", "service"],
  ])("is where %s says", async (_variable, place) => {
    const folder = makeFolder({ "venue.json5": "{}" });
    const STATE_DIRECTORY = `${join(folder, "service")}:${join(folder, "second")}`;
    const own: Record<string, string> = place === "own" ? { VENUE_FILES_STATE_DIR: join(folder, "own") } : {};
    const served = await serve(["--config", "venue.json5"], { cwd: folder, env: { STATE_DIRECTORY, ...own } });
    await served.stop();
    expect(readdirSync(folder).sort()).toEqual([place, "venue.json5"].sort());
    // The folder of the venue says where it runs.
    expect(readdirSync(join(folder, place)).sort()).toEqual([
      "format",
      "local-token",
      "revocation-guard",
      "venue-files",
    ]);
  });

  test("can be false: no local token, and one word about the identity", async () => {
    const folder = makeFolder({ "venue.json5": "{ stateDir: false }" });
    const served = await serve(["--config", "venue.json5"], { cwd: folder, tmp: folder });
    const { status, stdout, stderr } = await served.stop();
    expect(status).toBe(0);
    expect(stderr).toBe(
      "Warning: The identity of this venue ends with its process: set 'seed' or 'seedFile' to keep one\n",
    );
    expect(stdout).not.toContain("Bearer");
    expect(existsSync(join(folder, ".local"))).toBe(false);
    const key = await runHere(["key", "new", "anne", "--config", "venue.json5"], { cwd: folder });
    expect(key).toMatchObject({
      status: 78,
      stderr: "'stateDir' is false, so there is no state directory\n",
    });
  });
});

describe("of several venues", () => {
  test("each has a folder in it", async () => {
    const folder = makeFolder({
      "venue.json5": '{ venues: [{ name: "one", port: 0 }, { name: "two", port: 0, stateDir: "state" }] }',
    });
    const served = start(["serve", "--config", "venue.json5"], { cwd: folder, tmp: folder });
    await served.until(/Stop with Ctrl-C/);
    await served.stop();
    const files = [".local/state/venue-files/one", "state/two"].map((place) => join(folder, place, "local-token"));
    expect(new Set(files.map((file) => readFileSync(file, "utf8"))).size).toBe(2);
    for (const file of files) expect(served.stdout()).toContain(`The token in ${file} acts as the operator`);
    expect(readdirSync(join(folder, "state")).sort()).toEqual(["format", "two"]);
  });

  test.each(["serve", "check"])("no two have the same, says %s", async (command) => {
    const folder = makeFolder({ "venue.json5": "{ venues: [{ port: 0 }, { port: 0 }] }" });
    const { status, stdout, stderr } = await runHere([command, "--config", "venue.json5"], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    expect(stderr.replace(/^venue\.json5:1:12: /, "")).toBe(
      "'venues[0]' and 'venues[1]' have the same name and the same 'stateDir'. Set 'venues[1].name' or 'venues[1].stateDir' to another\n",
    );
  });
});
