// Errors in the words of the Everruns tools.

import { adapterError, type ErrorCode, type FileAdapterError } from "../../core/errors/errors.js";

/** A failure whose text is final and is not mapped again. */
export const toolFault = (code: ErrorCode, text: string): FileAdapterError => adapterError(code, text, { told: true });

/** Whether a failure has its final text. */
export const isTold = ({ data }: FileAdapterError): boolean => data["told"] === true;

export const missingParameter = (name: string): FileAdapterError =>
  toolFault("INVALID_INPUT", `Missing required parameter: ${name}`);

/** @param what description of the fault */
export const invalidParameter = (name: string, what: string): FileAdapterError =>
  toolFault("INVALID_INPUT", `Invalid parameter ${name}: ${what}`);
