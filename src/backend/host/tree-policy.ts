// Refuses changes to whole directories that contain denied or protected entries.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { notEmpty } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Pinned } from "../../jail/handles.js";
import { isUnguarded, refusalOf } from "../path-policy.js";
import type { Change } from "./target.js";
import { walkEntries } from "./walk.js";

/**
 * @throws DENIED_BY_POLICY, PERMISSION_DENIED if a directory contains denied or protected entries, or cannot be
 * searched for them
 */
export function* requireAllAllowed({ jail, access }: Pick<Change, "jail" | "access">, object: Pinned): Io<void> {
  if (isUnguarded(access) || !object.stat.isDirectory()) return;
  let refusal: FileAdapterError | undefined;
  const policy = {
    denies: (below: readonly string[], name: string): boolean => {
      refusal = refusalOf(access, below, name);
      return refusal !== undefined;
    },
    isDoubtful: (below: readonly string[], name: string): boolean =>
      [access.policy, access.protection].some((one) => one?.isDoubtful?.(below, name) === true),
  };
  const refuse = (): never => {
    throw refusal;
  };
  const guarded = { scope: access.scope, policy };
  yield* walkEntries(jail, object, {
    ...{ visit: () => "enter", visitDenied: refuse, sizes: false, strict: true, access: guarded },
  });
}

/** @throws NOT_EMPTY for a directory that holds something */
export function* requireEmpty({ jail, access }: Pick<Change, "jail" | "access">, object: Pinned): Io<void> {
  if (object.stat.isDirectory() && (yield* jail.sys.names(object)).length > 0) throw notEmpty(access.place);
}
