import { describe, expect, test } from "@jest/globals";
import type { Backend } from "../../src/core/backend.js";
import { concurrencySuite } from "./concurrency-suite.js";
import { contentSuite, parentsSuite } from "./content-suite.js";
import { mkdirSuite, removeSuite } from "./entries-suite.js";
import { type Files, filesOf } from "./files.js";
import { guardsSuite } from "./guards-suite.js";
import { lifeSuite } from "./life-suite.js";
import { listSuite, walkSuite } from "./listing-suite.js";
import { modelSuite } from "./model-suite.js";
import { namesSuite } from "./names-suite.js";
import { readSuite, statSuite } from "./reading-suite.js";

export { type AccessOverrides, SUITE_ROOT, steppingClock, type TestAccess, testAccess } from "./access.js";

/** What one behaviour is shown on: an empty root of its own. */
export interface Stage {
  readonly backend: Backend;
  readonly files: Files;
  readonly links: boolean;
}

/** Declares one behaviour. */
export type Scenario = (behaviour: string, show: (stage: Stage) => Promise<void>) => void;

export interface OpenedBackend {
  readonly backend: Backend;
  /** Removes what the backend stood on. The suite has closed the backend before. */
  cleanup(): Promise<void>;
}

/**
 * Declares the tests that every {@link Backend} passes. They make no links and look at no host: what differs between
 * backends is tested elsewhere. File names are taken to be case-sensitive and stored as given.
 *
 * @param name of the backend, the heading of the tests
 * @param open makes an empty root of the name {@link SUITE_ROOT}; called once a test
 * @param options `links`: the root can hold links, so a call may have to resolve its path, and ask for the real one, more
 *   than once. Default false: exactly once.
 * @example
 * backendSuite("memory", async () => ({
 *   backend: createMemoryBackend({ rootName: SUITE_ROOT, clock: systemClock }),
 *   cleanup: async () => {},
 * }));
 */
export function backendSuite(
  name: string,
  open: () => Promise<OpenedBackend>,
  options: { links?: boolean } = {},
): void {
  const scenario: Scenario = (behaviour, show) => {
    test(behaviour, async () => {
      const { backend, cleanup } = await open();
      try {
        await show({ backend, files: filesOf(backend), links: options.links ?? false });
      } finally {
        await close(backend, cleanup);
      }
    });
  };
  describe(`${name} backend`, () => {
    scenario("starts with an empty root", async ({ files }) => {
      expect(await files.list("")).toEqual({ entries: [], total: 0 });
    });
    statSuite(scenario);
    readSuite(scenario);
    listSuite(scenario);
    walkSuite(scenario);
    for (const method of ["write", "append"] as const) {
      contentSuite(scenario, method);
      parentsSuite(scenario, method);
    }
    mkdirSuite(scenario);
    removeSuite(scenario);
    namesSuite(scenario);
    guardsSuite(scenario);
    lifeSuite(scenario);
    concurrencySuite(scenario);
    modelSuite(scenario);
  });
}

async function close(backend: Backend, cleanup: () => Promise<void>): Promise<void> {
  try {
    await backend.close();
  } finally {
    await cleanup();
  }
}
