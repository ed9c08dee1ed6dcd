import { NeedsMemory } from "../../core/memory.js";
import type { Call } from "../../core/ports/operation.js";

/** What a byte of a file takes as text or base64: the byte itself, and the text, which may have two bytes a character. */
const AS_TEXT = 3;
/** The same as JSON values, which are much larger than their text. */
const AS_VALUES = 10;

/** Asks for room for an answer before it is made. @param bytes of the file that it holds @throws NeedsMemory */
export function holdAnswer({ memory }: Call, bytes: number, as: "text" | "values" = "text"): void {
  if (memory === undefined) return;
  const needed = bytes * (as === "text" ? AS_TEXT : AS_VALUES);
  if (!memory.tryHold(needed)) throw new NeedsMemory(needed);
}
