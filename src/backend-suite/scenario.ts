// The context and signature of a scenario of the suite.

import type { Backend } from "../core/ports/backend.js";
import type { Files } from "./files.js";

/** The empty root on which one behaviour is tested. */
export interface Stage {
  readonly backend: Backend;
  readonly files: Files;
  readonly links: boolean;
  readonly maxDepth: number;
}

/** Declares one behaviour as a test. */
export type Scenario = (behaviour: string, show: (stage: Stage) => Promise<void>) => void;
