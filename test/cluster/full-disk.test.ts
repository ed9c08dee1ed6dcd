// What callers see when the disk of the engine is full: first what it cannot write is refused, then the engine stops.
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, readFileSync, truncateSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { isRoot, mounted, mountsPossible, NOBODY } from "../jail/start-child.js";
import { describeWhere } from "../needs.js";
import { engineFolder, hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, type Instance, startCluster, until } from "./instances.js";
import { CONFIG, expectDone, ROWS, WRITING } from "./needing.js";

/** Pages that an engine of this size may have left. */
const MOST_ROUNDS = 2000;
/** After that a request to the engine is given up. */
const GIVEN_UP_MS = 2000;
const { uid, gid } = NOBODY;
const mountAt = (folder: string) => `mount -t tmpfs -o size=64m,mode=700,uid=${uid},gid=${gid} tmpfs ${folder}`;
const { possible, reason } = hasPostgres && isRoot ? mountsPossible(mountAt("/mnt")) : { possible: false, reason: "" };

describeWhere(possible, hasPostgres ? `An engine on a disk of its own${reason}: needs root` : NO_POSTGRES)(
  "an engine whose disk is full",
  () => {
    let holder: ChildProcess;
    let engine: TestEngine;
    let cluster: Cluster;
    let one: Instance;
    let filler: string;
    beforeAll(async () => {
      const folder = engineFolder();
      const [command = "", ...args] = [...mounted(mountAt(folder)), "sleep", "600"];
      holder = spawn(command, args, { stdio: "ignore" });
      await until(async () => readFileSync(`/proc/${holder.pid}/mounts`, "utf8").includes(folder));
      const inside = ["nsenter", "--target", `${holder.pid}`, "--mount", "--wd=/"];
      const asNobody = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
      engine = await startPostgres({ folder, under: [...inside, ...asNobody] });
      filler = `/proc/${holder.pid}/root${folder}/filler`;
      cluster = await startCluster(engine.port, CONFIG);
      one = await cluster.start();
    });
    afterAll(async () => {
      await cleanUp();
      await cluster?.close();
      await engine?.remove();
      holder?.kill();
    });

    function fill(): void {
      const page = Buffer.alloc(65_536);
      expect(() => {
        for (;;) appendFileSync(filler, page);
      }).toThrow("ENOSPC");
    }

    test("refuses what it cannot write, and its callers are told to come again", async () => {
      const rows = async () => Number((await engine.sql(`SELECT ${ROWS} AS rows`))[0]?.["rows"]);
      await expectDone(WRITING, one, "before");
      const before = await rows();
      fill();
      let accepted = 0;
      // Of calls that were given up for their time, on a busy machine, nobody knows.
      let unknown = 0;
      for (const [index, [status, call]] of WRITING.entries()) {
        // There is room in what it has on the disk already.
        for (let round = 0; ; round++) {
          const begun = performance.now();
          const answer = await call(one, `full-${index}-${round}`);
          if (answer.status === status) accepted++;
          else {
            expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
            expect(await answer.text()).toContain("SHARED_STATE_UNAVAILABLE");
            if (performance.now() - begun >= GIVEN_UP_MS) unknown++;
            break;
          }
          expect(round).toBeLessThan(MOST_ROUNDS);
        }
      }
      const job = await one.begin();
      expect((await one.record(job)).record["status"]).toBe("STARTED");
      truncateSync(filler);
      // Without room for its log it may have ended.
      await engine.start();
      await until(async () => (await one.ask("/readyz")).status === 200);
      await until(async () => (await engine.sql(`SELECT 1 FROM job WHERE id = '${job}'`)).length === 1);
      // Those that were answered are there, and no other.
      const made = (await rows()) - before;
      expect(made).toBeGreaterThanOrEqual(accepted);
      expect(made).toBeLessThanOrEqual(accepted + unknown);
      await expectDone(WRITING, one, "after");
    });
  },
);
