// Groups of changes in host roots: the register of those under way, and the recovery of unfinished ones.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { type RecoveryReport, recoverGroups } from "../backend/host/group/recovery.js";
import { IntentRegister } from "../backend/host/group/register.js";
import type { DriveRootConfig, RootConfig } from "../core/file-config.js";
import type { Io } from "../core/io.js";
import type { PathPolicy } from "../core/ports/path-policy.js";
import type { Jail } from "../jail/jail.js";
import type { JournalPlace } from "../journal/open-journal.js";
import { compileDeny } from "../path/deny.js";

/** State that roots keep outside themselves, and their reports. */
export interface RootsState {
  /** Absent: nothing is kept. */
  readonly stateDir?: { readonly path: string; prepare(): void } | undefined;
  /** Where journals lie. Absent: there are none. */
  readonly journals?: JournalPlace | undefined;
  /** Told of groups of changes that a dead process left half done, or that failed and could not be undone. */
  readonly onRecovery?: ((root: string, report: RecoveryReport) => void) | undefined;
}

type GroupConfig = Pick<Exclude<RootConfig, DriveRootConfig>, "deny" | "protect" | "durability">;

const FOLDER = "intents";

/** The groups of changes of one root. */
export class RootGroups {
  readonly #name: string;
  readonly #config: GroupConfig;
  readonly #state: RootsState;
  #register: IntentRegister | undefined;

  constructor(name: string, config: GroupConfig, state: RootsState) {
    this.#name = name;
    this.#config = config;
    this.#state = state;
  }

  /** `undefined` without a state directory. */
  registerOf({ realPath }: Jail): IntentRegister | undefined {
    const { stateDir } = this.#state;
    if (stateDir === undefined) return undefined;
    const key = createHash("sha256").update(realPath).digest("hex");
    this.#register ??= new IntentRegister(join(stateDir.path, FOLDER, key), () => stateDir.prepare());
    return this.#register;
  }

  /** As the rules of changes need it. */
  readonly onRaced = (paths: RecoveryReport["paths"]): void =>
    this.#state.onRecovery?.(this.#name, { outcome: "raced", paths });

  /** As a jail needs it: it runs before anything else in the root. */
  readonly recover = (jail: Jail, isLocked: boolean): Io<void> => {
    const { onRecovery } = this.#state;
    let refused: readonly PathPolicy[] | undefined;
    return recoverGroups(
      jail,
      {
        durable: this.#config.durability === "flush",
        register: this.registerOf(jail),
        isRefused: (path) => {
          refused ??= [this.#config.deny, this.#config.protect].map((patterns) => compileDeny(patterns, jail));
          return refused.some((policy) => policy.denies(path));
        },
        report: (report) => onRecovery?.(this.#name, report),
      },
      isLocked,
    );
  };
}
