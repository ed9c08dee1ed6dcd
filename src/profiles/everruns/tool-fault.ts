import { adapterError, type ErrorCode, type FileAdapterError } from "../../core/errors/errors.js";

/** A failure in the words of the tools, which are not mapped again. */
export const toolFault = (code: ErrorCode, text: string): FileAdapterError => adapterError(code, text, { told: true });

/** Whether a failure has its final text. */
export const isTold = ({ data }: FileAdapterError): boolean => data["told"] === true;

export const missingParameter = (name: string): FileAdapterError =>
  toolFault("INVALID_INPUT", `Missing required parameter: ${name}`);

/** @param what is wrong with it */
export const invalidParameter = (name: string, what: string): FileAdapterError =>
  toolFault("INVALID_INPUT", `Invalid parameter ${name}: ${what}`);
