import {
  type BackendSuiteOptions,
  type OpenedBackend,
  backendSuite as publishedSuite,
} from "../../src/backend-suite/index.js";
import { modelSuite } from "./model-suite.js";

export {
  type AccessOverrides,
  type OpenedBackend,
  type Scenario,
  type Stage,
  SUITE_ROOT,
  steppingClock,
  type TestAccess,
  testAccess,
} from "../../src/backend-suite/index.js";

/** The suite as others have it, and a comparison with a model, which needs more than a test runner. */
export function backendSuite(
  name: string,
  open: () => Promise<OpenedBackend>,
  options: Omit<BackendSuiteOptions, "also"> = {},
): void {
  publishedSuite(name, open, { ...options, also: modelSuite });
}
