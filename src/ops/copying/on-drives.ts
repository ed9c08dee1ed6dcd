// `move` and `copy` among the caller's drives, whose inputs name drives in place of roots.

import type { Operation, PlacesCall } from "../../core/ports/operation.js";
import type { CopyInput, CopyOutput, MoveInput, MoveOutput } from "../../schema/types.js";
import { copy } from "../copy.js";
import { move } from "../move.js";

interface OnDrives {
  readonly drive: string;
  /** Default: `drive`. */
  readonly toDrive?: string;
}

type OnRoots<Input, Output> = Operation<Input, Output>;

const toNamedRoots = <T>({ drive, toDrive, ...input }: T & OnDrives) => ({
  ...input,
  root: drive,
  ...(toDrive === undefined ? {} : { toRoot: toDrive }),
});

function onDrives<Input, Output>(operation: OnRoots<Input, Output>): OnRoots<Input & OnDrives, Output> {
  if (operation.on !== "places") throw new TypeError("Only an operation on places can name two drives");
  const { check, run } = operation;
  const given = (input: Input & OnDrives) => toNamedRoots(input) as unknown as Input;
  return {
    ...operation,
    check: (input: Input & OnDrives) => check?.(given(input)),
    run: (input: Input & OnDrives, call: PlacesCall) => run(given(input), call),
  } as Operation<Input & OnDrives, Output>;
}

export const moveOnDrives = onDrives<MoveInput, MoveOutput>(move);
export const copyOnDrives = onDrives<CopyInput, CopyOutput>(copy);
