/** Terminal control sequences (ECMA-48): CSI, OSC and other control strings, and the short escapes. */
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;
const HEAD_SHARE = 0.2;

/**
 * Cleans command output for a model: removes control sequences, resolves lines overwritten by carriage returns to their
 * final text, and cuts the middle out of long output.
 * @param mostBytes maximum bytes kept, without the marker for the cut
 */
export function cleanOutput(output: Uint8Array, mostBytes: number): string {
  const text = Buffer.from(output.buffer, output.byteOffset, output.byteLength).toString("utf8");
  return cutMiddle(applyReturns(text.replace(ANSI, "")), mostBytes);
}

/**
 * A lone carriage return moves to the start of the line; the old text is discarded only once something is written over
 * it.
 */
function applyReturns(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.split("\r").findLast((part) => part !== "") ?? "").join("\n");
}

function cutMiddle(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const headBytes = Math.floor(mostBytes * HEAD_SHARE);
  const head = bytes.subarray(0, characterAt(bytes, headBytes, -1));
  const tail = bytes.subarray(characterAt(bytes, bytes.length - (mostBytes - headBytes), 1));
  const left = bytes.length - head.length - tail.length;
  return `${head.toString("utf8")}\n... [${left} bytes left out] ...\n${tail.toString("utf8")}`;
}

/** The character boundary nearest to `at` in the direction of `step`. */
function characterAt(bytes: Buffer, at: number, step: -1 | 1): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += step;
  return start;
}
