// Reserves memory for an answer before the file is read.

import { NeedsMemory } from "../../core/memory.js";
import type { Call } from "../../core/ports/operation.js";

/** Memory per byte of a file, by how it is sent. */
const WEIGHTS = {
  /** The byte alone. */
  bytes: 1,
  /** As text or base64: the byte, and a string of up to two bytes per character. */
  text: 3,
  /** As a JSON value: values are much larger than their text. */
  values: 10,
  /** To be edited: bytes and text, before and after. */
  edit: 6,
} as const;

/** Reserves memory for an answer before it is built. @param bytes size of the file content in it @throws NeedsMemory */
export function holdAnswer({ memory }: Call, bytes: number, as: keyof typeof WEIGHTS = "text"): void {
  if (memory === undefined) return;
  const needed = bytes * WEIGHTS[as];
  if (!memory.tryHold(needed)) throw new NeedsMemory(needed);
}
