// `cluster status` of instances that run, on an engine.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { configOf, useInstances } from "../../venue/shared/ground.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

describeWhere(hasPostgres, NO_POSTGRES)("cluster status", () => {
  const ground = useInstances();
  afterAll(() => cleanUp());

  test("is 0 where all are configured alike, and 1 where one is not", async () => {
    const folder = makeFolder();
    const file = join(folder, "venue.json5");
    const config = {
      ...{ seed: "ab".repeat(32), shared: { postgres: { url: { env: "DB" } } } },
      drives: { store: { s3: { bucket: "drives" } } },
      storage: { content: "s3", s3: { bucket: "drives" } },
      file: { roots: { tmp: { temp: true, perInstance: true } } },
    };
    writeFileSync(file, JSON.stringify(config));
    const run = (...args: readonly string[]) => runHere(["cluster", ...args, "--config", file], { env: ground.env });
    expect(await run("status")).toMatchObject({ status: 78, stderr: expect.stringMatching(/cluster init/) });
    expect(await run("init")).toMatchObject({ status: 0, stdout: expect.stringMatching(/schema venue_files/) });
    expect(await run("status")).toMatchObject({ status: 0, stdout: "No instance within a day.\n" });
    await ground.start(configOf());
    await ground.start(configOf());
    const alike = await run("status", "--json");
    const lines = alike.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([alike.status, lines.map(({ number, live }) => [number, live])]).toEqual([
      0,
      [
        [1, true],
        [2, true],
      ],
    ]);
    expect(lines[0].digest).toEqual(lines[1].digest);

    const other = await ground.start(configOf({ file: { roots: { mine: { dlfs: "notes" } } } }));
    const apart = await run("status");
    expect(apart).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^ *number +state .* roots *\n(?: *\d +live .*\n){3}$/),
    });
    // Who can write to the engine writes no escapes to a terminal.
    await ground.engine.sql("UPDATE venue_files.instance SET version = E'\\x1b[2J' WHERE number = 3");
    expect((await run("status")).stdout).toContain("\\u{1b}[2J");
    // One that is gone is no difference.
    await other.close();
    expect(await run("status")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ *3 +gone /m) });
  });
});
