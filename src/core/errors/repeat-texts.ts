// Messages and data of errors of repeated calls and of watches.

import { adapterError, type FileAdapterError } from "./errors.js";
import { invalidInput } from "./texts.js";

export const operationIdInUse = (operationId: string): FileAdapterError =>
  adapterError(
    "CONFLICT",
    `'operationId' "${operationId}" belongs to another call of yours. Choose a new one for each change`,
    { operationId },
  );

export const outcomeUnknown = (operationId: string): FileAdapterError =>
  adapterError(
    "OUTCOME_UNKNOWN",
    `The first call with 'operationId' "${operationId}" may have made its change: its end was not recorded. Look at the place, then repeat with a new id`,
    { operationId, mayHaveHappened: true },
  );

export const anonymousRepeat = (): FileAdapterError =>
  invalidInput(
    "'operationId' needs a caller with credentials: others cannot be told apart. Leave it out",
    "/operationId",
    "no operationId",
  );

export const cursorOfAnother = (): FileAdapterError =>
  invalidInput("'cursor' belongs to another call. Leave it out to begin anew", "/cursor", "a cursor of this call");

/** @param most polls of one caller that may wait at the same time */
export const tooManyPolls = (most: number): FileAdapterError =>
  adapterError("LIMIT", `${most} polls of yours wait already. End one, or follow GET /api/v1/events`, { limit: most });
