import type { Ability } from "../core/call/capability.js";
import { CallScope, cancelledBy } from "../core/call/scope.js";
import { type Clock, systemClock } from "../core/clock.js";
import type { Access, PlacePolicy } from "../core/ports/backend.js";

/** Name under which the suite expects to have been given its root; it stands in the texts of errors. */
export const SUITE_ROOT = "suite";

export interface AccessOverrides {
  /** Canonical requested path, for errors. @default "" */
  readonly path?: string;
  readonly clock?: Clock;
  /** @default 30000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called after the call was recorded; throws to deny. */
  readonly real?: (segments: readonly string[]) => void;
  /** Called after the call was recorded; throws to deny. */
  readonly create?: (requested: readonly string[], real: readonly string[]) => void;
  /** @default nothing is denied */
  readonly policy?: PlacePolicy;
  /** @default everything */
  readonly holds?: (ability: Ability) => boolean;
  /** @default "test" */
  readonly verb?: string;
}

/** An access that grants everything it is not told to deny, and remembers what it was asked. */
export interface TestAccess extends Access {
  /** Paths, in the order in which they were asked. */
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
    holds: overrides.holds ?? (() => true),
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

/** A clock that moves on by `stepMs` each time it is read, so that deadlines and pauses come without waiting. */
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
