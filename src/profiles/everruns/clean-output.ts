/** Control sequences of terminals: CSI, OSC and other strings, and the short ones. */
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;
const HEAD_SHARE = 0.2;

/**
 * Output of a command as a model should read it: without control sequences, of lines that were written over only what
 * stood there last, and with its middle left out where it is long.
 * @param mostBytes of what is left, without the marker that says so
 */
export function cleanOutput(output: Uint8Array, mostBytes: number): string {
  const text = Buffer.from(output.buffer, output.byteOffset, output.byteLength).toString("utf8");
  return withoutMiddle(overwritten(text.replace(ANSI, "")), mostBytes);
}

/** A carriage return alone begins its line again; what was there before it is gone once something else is written. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.split("\r").findLast((part) => part !== "") ?? "").join("\n");
}

function withoutMiddle(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const headBytes = Math.floor(mostBytes * HEAD_SHARE);
  const head = bytes.subarray(0, characterAt(bytes, headBytes, -1));
  const tail = bytes.subarray(characterAt(bytes, bytes.length - (mostBytes - headBytes), 1));
  const left = bytes.length - head.length - tail.length;
  return `${head.toString("utf8")}\n... [${left} bytes left out] ...\n${tail.toString("utf8")}`;
}

/** The place nearest to `at`, on one side of it, where a character begins. */
function characterAt(bytes: Buffer, at: number, step: -1 | 1): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += step;
  return start;
}
