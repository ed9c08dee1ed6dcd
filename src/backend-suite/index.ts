// Conformance suite for backends: the behaviour that every implementation of the Backend port must have.

import type { Backend } from "../core/ports/backend.js";
import { filesOf } from "./files.js";
import { describe, expect, test } from "./runner.js";
import type { Scenario } from "./scenario.js";
import { concurrencySuite } from "./suites/concurrency.js";
import { conditionSuite } from "./suites/condition.js";
import { contentSuite, parentsSuite } from "./suites/content.js";
import { mkdirSuite, removeSuite } from "./suites/entries.js";
import { groupSuite } from "./suites/group.js";
import { guardsSuite } from "./suites/guards.js";
import { lifeSuite } from "./suites/life.js";
import { listSuite, walkSuite } from "./suites/listing.js";
import { namesSuite } from "./suites/names.js";
import { openSuite } from "./suites/open.js";
import { readSuite, statSuite } from "./suites/reading.js";
import { relocationSuite } from "./suites/relocation.js";
import { replaceSuite } from "./suites/replace.js";
import { reportSuite } from "./suites/report.js";

export type { RelPath } from "../core/call/path.js";
export {
  conflict,
  existsNotDirectory,
  isADirectory,
  notADirectory,
  notAFile,
  notEmpty,
  notFound,
  parentMissing,
  rootDelete,
} from "../core/errors/texts.js";
export type {
  Access,
  AppendOptions,
  Backend,
  Body,
  ChangeOptions,
  Entry,
  FileStat,
  Listing,
  ReadBytes,
  ReadRange,
  Visit,
  WalkContent,
  WalkEntry,
  WalkOptions,
  WriteOptions,
  Written,
} from "../core/ports/backend.js";
export type { EntryChange, EntryState } from "../core/ports/changes/change.js";
export type { OpenFile, Stamp } from "../core/ports/open-file.js";
export { sortByName } from "../path/order.js";
export { type AccessOverrides, SUITE_ROOT, steppingClock, type TestAccess, testAccess } from "./access.js";
export type { Scenario, Stage } from "./scenario.js";

/** Properties in which backends differ. */
export interface BackendSuiteOptions {
  /**
   * Whether the root can hold symlinks; a call may then resolve its path, and request access to the real one, more than
   * once. Default false.
   */
  readonly links?: boolean;
  /** Maximum segments of a path. Default 200. */
  readonly maxDepth?: number;
  /** Declares further behaviours in the same way. */
  readonly also?: (scenario: Scenario) => void;
}

export interface OpenedBackend {
  readonly backend: Backend;
  /** Removes the backend's resources. The suite has already closed the backend. */
  cleanup(): Promise<void>;
}

/**
 * Declares the tests that every {@link Backend} must pass. The tests create no symlinks and do not inspect the host;
 * differences between backends are tested elsewhere. Runs in Jest, or in Vitest with globals. File names are assumed to
 * be case-sensitive and stored as given.
 *
 * @param name of the backend; the title of the tests
 * @param open creates an empty root named {@link SUITE_ROOT}; called once per test
 * @example
 * backendSuite("memory", async () => ({
 *   backend: createMemoryBackend({ rootName: SUITE_ROOT, clock: systemClock }),
 *   cleanup: async () => {},
 * }));
 */
export function backendSuite(
  name: string,
  open: () => Promise<OpenedBackend>,
  options: BackendSuiteOptions = {},
): void {
  const scenario: Scenario = (behaviour, show) => {
    test(behaviour, async () => {
      const { backend, cleanup } = await open();
      try {
        const { links = false, maxDepth = 200 } = options;
        await show({ backend, files: filesOf(backend), links, maxDepth });
      } finally {
        await close(backend, cleanup);
      }
    });
  };
  describe(`${name} backend`, () => {
    scenario("starts with an empty root", async ({ files }) => {
      expect(await files.list("")).toEqual({ entries: [], total: 0, start: 0 });
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
    relocationSuite(scenario);
    replaceSuite(scenario);
    reportSuite(scenario);
    groupSuite(scenario);
    openSuite(scenario);
    conditionSuite(scenario);
    options.also?.(scenario);
  });
}

async function close(backend: Backend, cleanup: () => Promise<void>): Promise<void> {
  try {
    await backend.close();
  } finally {
    await cleanup();
  }
}
