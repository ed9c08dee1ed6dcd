import { NeedsMemory } from "../../core/memory.js";
import type { Call } from "../../core/ports/operation.js";

/** Memory per byte of a file sent as text or base64: the byte, and a string of up to two bytes per character. */
const AS_TEXT = 3;
/** Memory per byte of a file sent as a JSON value: values are much larger than their text. */
const AS_VALUES = 10;

/** Reserves memory for an answer before it is built. @param bytes size of the file content in it @throws NeedsMemory */
export function holdAnswer({ memory }: Call, bytes: number, as: "text" | "values" = "text"): void {
  if (memory === undefined) return;
  const needed = bytes * (as === "text" ? AS_TEXT : AS_VALUES);
  if (!memory.tryHold(needed)) throw new NeedsMemory(needed);
}
