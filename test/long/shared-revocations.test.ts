import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { systemClock } from "../../src/core/clock.js";
import type { PostgresShared } from "../../src/venue/shared/postgres.js";
import { type Fault, startProxy, type TcpProxy } from "../cluster/proxy.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES } from "../postgres.js";
import { configOf, useInstances } from "../venue/shared/ground.js";

const ROUNDS = 1000;
const SECOND = 1000;

interface Instance {
  readonly shared: PostgresShared;
  readonly proxy: TcpProxy;
  /** When its way to the engine was not as it should be. */
  readonly faults: { readonly from: number; to: number }[];
}

describeWhere(hasPostgres, NO_POSTGRES)("three instances", () => {
  const ground = useInstances();
  const instances: Instance[] = [];
  const now = () => systemClock.monotonicMs();

  beforeAll(async () => {
    const config = configOf();
    await ground.init(config);
    for (let count = 0; count < 3; count++) {
      const proxy = await startProxy(() => ground.engine.port);
      const url = ground.env.DB.replace(`:${ground.engine.port}/`, `:${proxy.port}/`);
      instances.push({ shared: await ground.start(configOf(), undefined, url), proxy, faults: [] });
    }
  }, 60_000);

  async function disturb(who: readonly Instance[], ms: number, fault: Fault | "restart"): Promise<void> {
    const windows = who.map(({ faults }) => {
      const one = { from: now(), to: Number.POSITIVE_INFINITY };
      faults.push(one);
      return one;
    });
    if (fault === "restart") await ground.engine.stop();
    else for (const { proxy } of who) proxy.set(fault);
    await pause(ms);
    if (fault === "restart") await ground.engine.start();
    else for (const { proxy } of who) proxy.set();
    // It connects again within a second.
    for (const one of windows) one.to = now() + SECOND;
  }

  test("honour nothing 2 s after the answer that it is revoked, nor 5 s where one is cut off", async () => {
    const [, second, third] = instances;
    if (second === undefined || third === undefined) throw new Error("They did not start");
    let isOver = false;
    const disturbing = (async () => {
      const steps: [readonly Instance[], number, Fault | "restart"][] = [
        [[second], 7 * SECOND, "cut"],
        [instances, 2 * SECOND, "restart"],
        [[third], 8 * SECOND, "silent"],
        [[second], 4 * SECOND, { delayMs: 200 }],
        [[second, third], 3 * SECOND, "silent"],
        [instances, 7 * SECOND, "restart"],
      ];
      for (let step = 0; !isOver; step++) {
        const [who, ms, fault] = steps[step % steps.length] ?? [[], SECOND, "cut"];
        await disturb(who, ms, fault);
        await pause(3 * SECOND);
      }
    })();
    /** Milliseconds from the answer until an instance denied, by its list or since its view was too old. */
    const honoured = { connected: 0, cutOff: 0 };
    const watches: Promise<void>[] = [];
    const watch = async (entry: string, at: number, { shared, faults }: Instance): Promise<void> => {
      while (!shared.revocations.has(entry) && !shared.tick.isStale) await pause(5);
      const ms = now() - at;
      const isConnected = faults.every(({ from, to }) => to < at || from > at + 2 * SECOND);
      const kind = isConnected ? "connected" : "cutOff";
      honoured[kind] = Math.max(honoured[kind], ms);
    };
    let answered = 0;
    for (let round = 0; answered < ROUNDS; round++) {
      const entry = randomBytes(32).toString("base64url");
      const by = instances[round % 3];
      try {
        await by?.shared.revocations.add([entry]);
        answered++;
        const at = now();
        for (const one of instances) watches.push(watch(entry, at, one));
      } catch {
        // Told that nothing was done.
        await pause(100);
      }
      await pause(20);
    }
    isOver = true;
    await disturbing;
    await Promise.all(watches);
    console.info(`Honoured at most: ${Math.round(honoured.connected)} ms, cut off ${Math.round(honoured.cutOff)} ms`);
    expect(honoured.connected).toBeLessThan(2 * SECOND);
    // Time that the sampling takes on a busy machine.
    expect(honoured.cutOff).toBeLessThan(5 * SECOND + 250);
    for (const { proxy } of instances) await proxy.close();
  }, 600_000);
});
