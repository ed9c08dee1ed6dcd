// Two instances with one root, and with one drive: writers that count by compare and set lose no update.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, type Instance, startCluster } from "./instances.js";

/** Writes that win, in all; in a drive a fifth of them, since each is requests to the bucket. */
const ROUNDS = Number(process.env["VENUE_FILES_ROUNDS"] ?? 60);
const WRITERS = 2;

describeWhere(hasPostgres, NO_POSTGRES)("two instances", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  let instances: readonly Instance[];
  beforeAll(async () => {
    engine = await startPostgres();
    const roots = { tmp: { temp: true, perInstance: true }, docs: { path: makeFolder(), shared: true } } as const;
    cluster = await startCluster(engine.port, { file: { roots: { ...roots, mine: { dlfs: "numbers" } } } });
    instances = [await cluster.start(), await cluster.start()];
  });
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  test.each([
    ["docs", ROUNDS],
    ["mine", ROUNDS / 5],
  ])(
    "count in %s, and none of %d is lost",
    async (root, rounds) => {
      const run = async (to: Instance, operation: string, input: object) => {
        const body = JSON.stringify({ operation, input: { root, path: "number", ...input } });
        const answer = await to.ask("/api/v1/run", { method: "POST", body }, "operator");
        return { status: answer.status, output: (await answer.json()) as Readonly<Record<string, unknown>> };
      };
      expect((await run(instances[0] as Instance, "file:write", { content: "0" })).status).toBe(200);
      const count = async (to: Instance): Promise<void> => {
        for (let won = 0; won < rounds / (WRITERS * instances.length); ) {
          const { output } = await run(to, "file:read", {});
          const content = String(Number(output["content"]) + 1);
          const { status } = await run(to, "file:write", { content, ifMatch: output["etag"] });
          if (status === 200) won++;
          else expect(status).toBe(412);
        }
      };
      await Promise.all(instances.flatMap((to) => Array.from({ length: WRITERS }, () => count(to))));
      for (const to of instances) expect((await run(to, "file:read", {})).output["content"]).toBe(String(rounds));
    },
    240_000 + ROUNDS * 100,
  );
});
