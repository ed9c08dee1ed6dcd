// `venue-files health` and `doctor`.
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, serve, start } from "../process.js";

afterAll(cleanUp);

describe("venue-files health", () => {
  test("says ok of a running venue, by URL, by address and by configuration", async () => {
    const venue = await serve([]);
    const { port } = new URL(venue.url);
    const folder = makeFolder({ "venue.json5": `{ port: ${port} }` });
    for (const args of [
      ["--url", venue.url],
      ["--port", port],
      ["--config", join(folder, "venue.json5")],
    ]) {
      expect(await runHere(["health", ...args])).toMatchObject({ status: 0, stdout: "ok\n", stderr: "" });
    }
    await venue.stop();
    expect(await runHere(["health", "--port", port])).toMatchObject({
      status: 1,
      stderr: `No healthy venue at http://localhost:${port}: nothing listens there (ECONNREFUSED)\n`,
    });
  });

  test("asks a venue on a Unix socket", async () => {
    const folder = makeFolder({ "venue.json5": '{ listen: { socket: "./v.sock" } }' });
    const venue = start(["serve", "--config", join(folder, "venue.json5")]);
    await venue.until(/Stop with Ctrl-C/);
    expect(await runHere(["health", "--config", join(folder, "venue.json5")])).toMatchObject({
      status: 0,
      stdout: "ok\n",
    });
    await venue.stop();
  });

  test("does not wait for a server that never answers, nor take another answer for health", async () => {
    const silent = createServer(() => {});
    const other = createServer((_request, response) => response.writeHead(503).end());
    const portOf = async (server: typeof silent) => {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const [first, second] = [await portOf(silent), await portOf(other)];
    expect((await runHere(["health", "--url", first])).stderr).toContain("no answer within 2000 ms");
    expect((await runHere(["health", "--url", second])).stderr).toContain("status 503");
    silent.closeAllConnections();
    silent.close();
    other.close();
  });
});

describe("venue-files doctor", () => {
  test("says what is there, changes nothing, and ends with 0", async () => {
    const home = makeFolder();
    const done = await runHere(["doctor"], { cwd: home, env: { HOME: home } });
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toMatch(/ok +Node +v\d+/);
    expect(done.stdout).toMatch(/Jail +(openat2|handle walk|real-path check)/);
    expect(readdirSync(home)).toEqual([]);
  });

  test("ends with 78 where something must be mended", async () => {
    const home = makeFolder({ "state/format": "99\n" });
    const done = await runHere(["doctor"], { cwd: home, env: { VENUE_FILES_STATE_DIR: join(home, "state") } });
    expect(done).toMatchObject({ status: 78, stdout: expect.stringMatching(/FAULT +State .*format 99/) });
  });
});
