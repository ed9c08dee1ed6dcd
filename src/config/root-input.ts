// Roots as users write them in a configuration.

import type { RootOptions } from "../core/file-config.js";
import type { ApprovalRulesInput } from "../core/ports/approval.js";

interface RootOptionsInput extends Partial<Omit<RootOptions, "approve" | "journalQuota">> {
  readonly approve?: ApprovalRulesInput;
  readonly journalQuota?: Partial<RootOptions["journalQuota"]>;
  /** No effect; accepted for compatibility. */
  readonly grep?: "auto" | "re2js";
}

/** A host directory, as written in a config. */
export interface HostRootInput extends RootOptionsInput {
  readonly path: string;
}

/** A temp root, as written in a config. */
export interface TempRootInput extends RootOptionsInput {
  readonly temp: true;
  /** Default `covia-<name>-`. */
  readonly prefix?: string;
}

/** A drive root (each caller has its own drive), as written in a config. */
export interface DriveRootInput {
  /** Name of the drive. */
  readonly dlfs: string;
  readonly readOnly?: boolean;
  readonly description?: string;
  readonly maxReadBytes?: number;
  readonly deny?: readonly string[];
  readonly approve?: ApprovalRulesInput;
  readonly encoding?: string;
  /** No effect; accepted for compatibility. */
  readonly grep?: "auto" | "re2js";
}

export type RootConfigInput = HostRootInput | TempRootInput | DriveRootInput;
