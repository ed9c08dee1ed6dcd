// Test doubles of the suite: an Access that records what it is asked, and a clock that advances by itself.

import type { Ability } from "../core/call/capability.js";
import type { RelPath } from "../core/call/path.js";
import { CallScope, cancelledBy } from "../core/call/scope.js";
import { type Clock, systemClock } from "../core/clock.js";
import { adapterError, type FileAdapterError } from "../core/errors/errors.js";
import type { Access, PlacePolicy } from "../core/ports/backend.js";
import { parsePath } from "../path/grammar.js";

/** Name that the suite's root must be opened with; it appears in error texts. */
export const SUITE_ROOT = "suite";

/** The refusal of an Access that denies. */
export const denial = (): FileAdapterError => adapterError("CAPABILITY_DENIED", "Denied by the test");

export interface AccessOverrides {
  /** Canonical requested path, for errors. @default "" */
  readonly path?: string;
  readonly clock?: Clock;
  /** Milliseconds. @default 30000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called after the request was recorded; throws to deny. */
  readonly real?: (segments: readonly string[]) => void;
  /** Called after the request was recorded; throws to deny. */
  readonly create?: (requested: readonly string[], real: readonly string[]) => void;
  /** @default nothing is denied */
  readonly policy?: PlacePolicy;
  /** @default nothing is protected */
  readonly protection?: PlacePolicy;
  /** @default everything */
  readonly holds?: (ability: Ability) => boolean;
  /** @default "test" */
  readonly verb?: string;
}

/** An Access that grants everything except what it is told to deny, and records its requests. */
export interface TestAccess extends Access {
  /** Paths, in the order of the requests. */
  readonly asked: {
    readonly real: string[];
    readonly create: { readonly requested: string; readonly real: string }[];
  };
}

export function testAccess(overrides: AccessOverrides = {}): TestAccess {
  const asked: TestAccess["asked"] = { real: [], create: [] };
  return {
    place: { root: SUITE_ROOT, path: overrides.path ?? "" },
    verb: overrides.verb ?? "test",
    policy: overrides.policy,
    protection: overrides.protection,
    holds: overrides.holds ?? (() => true),
    require(ability) {
      if (overrides.holds?.(ability) === false) throw denial();
    },
    scope: new CallScope({
      clock: overrides.clock ?? systemClock,
      timeoutMs: overrides.timeoutMs ?? 30_000,
      cancellation: cancelledBy(overrides.signal),
    }),
    asked,
    real(segments) {
      asked.real.push(segments.join("/"));
      overrides.real?.(segments);
    },
    create(requested, real) {
      asked.create.push({ requested: requested.join("/"), real: real.join("/") });
      overrides.create?.(requested, real);
    },
  };
}

/** A clock that advances by `stepMs` on every read, so that deadlines and pauses are reached without waiting. */
export function steppingClock(stepMs: number): Clock {
  let now = 0;
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => {
      now += stepMs;
      return now;
    },
  };
}

/** A place below the root of the suite, as its methods take it. */
export const at = (path: string, overrides: AccessOverrides = {}): { path: RelPath; access: TestAccess } => ({
  path: parsePath(SUITE_ROOT, path),
  access: testAccess({ ...overrides, path }),
});
