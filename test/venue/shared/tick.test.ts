import { afterEach, expect, jest, test } from "@jest/globals";
import type { Log } from "../../../src/core/ports/log.js";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { until } from "../../until.js";
import { configOf, useInstances } from "./ground.js";

const { now } = Date;
const APART = "the clocks of this machine and of the shared engine are apart";
const FSYNC = "the shared engine runs with fsync = off: revocations may be lost when its machine fails";

describeWhere(hasPostgres, NO_POSTGRES)("an instance warns", () => {
  const ground = useInstances();
  afterEach(() => void jest.restoreAllMocks());

  /** What an instance warns of, whose clock is so far from that of the engine. */
  async function warnings(skewMs: number) {
    const warned: [object, string][] = [];
    const write = () => {};
    const log: Log = {
      debug: write,
      info: write,
      error: write,
      warn: (fields, text) => void warned.push([fields, text]),
    };
    const config = configOf();
    await ground.init(config);
    jest.spyOn(Date, "now").mockImplementation(() => now() + skewMs);
    const shared = await ground.start(config, log);
    const seen = shared.tick.ageMs;
    await until(() => shared.tick.ageMs < seen + 1000);
    return { shared, warned, texts: () => warned.map(([, text]) => text) };
  }

  test.each([6000, -6000, 60_000])("of clocks that are %p ms apart, once, with its number", async (skewMs) => {
    const { shared, warned, texts } = await warnings(skewMs);
    // What a request takes counts for nothing, be it a second.
    await until(async () => {
      await shared.tick.now();
      return texts().includes(APART);
    });
    await shared.tick.now();
    expect(texts().filter((text) => text === APART)).toHaveLength(1);
    const { instance, ms } = Object(warned.find(([, text]) => text === APART)?.[0]);
    expect([instance, ms > 5000 && ms <= Math.abs(skewMs)]).toEqual([shared.self.number, true]);
  });

  test("not of clocks that are less than 5 s apart", async () => {
    for (const skewMs of [0, 3000, -3000]) expect((await warnings(skewMs)).texts()).not.toContain(APART);
  });

  test("of an engine that may lose what it has confirmed, once", async () => {
    const { shared, texts } = await warnings(0);
    await shared.tick.now();
    // As engines of tests run.
    expect(texts().filter((text) => text === FSYNC)).toHaveLength(1);
  });
});
