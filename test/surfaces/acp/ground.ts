import { join } from "node:path";
import { afterEach } from "@jest/globals";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpOptions } from "../../../src/surfaces/acp/options.js";
import { type GroundOptions, useGround } from "../../ops/ground.js";

/** Declares a ground for the tests of a file or a `describe`, with hosts of agents on it. */
export function useAcp(options: GroundOptions = {}) {
  const ground = useGround(options);
  return {
    ground,
    at: (path: string): string => join(ground.dir, path),
    text: (path: string): string => ground.get(path).toString(),
    /** A host whose agents see the root `r`, unless options say otherwise. */
    newFs: (more: Partial<AcpOptions> = {}): AcpClientFs =>
      new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], ...more }),
  };
}

/** Takes what a test has connected, and ends it behind the test. */
export function useStops(): (() => Promise<void>)[] {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });
  return stops;
}
