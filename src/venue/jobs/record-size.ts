/** Bytes counted per object or array, besides its parts, and for the place of each part in it. */
const CONTAINER_BYTES = 24;
const PLACE_BYTES = 8;
/** Bytes counted per string, besides its characters: short ones are mostly this. */
const STRING_BYTES = 16;
const SCALAR_BYTES = 8;
/** Maximum values visited; also ends the walk of a cyclic value. */
const MAX_VALUES = 5_000_000;

/**
 * Estimates the bytes a value keeps alive; a character counts as one byte, and each key as a string of its own. Nothing is encoded, so long texts cost no
 * more time than short ones. Iterative, so deep values cannot overflow the stack.
 *
 * @returns bytes; `Infinity` for more than five million values
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return STRING_BYTES + value.length;
  if (typeof value !== "object" || value === null) return SCALAR_BYTES;
  if (ArrayBuffer.isView(value)) return CONTAINER_BYTES + value.byteLength;
  const containers: object[] = [];
  let bytes = 0;
  let values = 0;
  const count = (part: unknown) => {
    values += 1;
    bytes += PLACE_BYTES;
    if (typeof part === "string") bytes += STRING_BYTES + part.length;
    else if (typeof part !== "object" || part === null) bytes += SCALAR_BYTES;
    else if (ArrayBuffer.isView(part)) bytes += CONTAINER_BYTES + part.byteLength;
    else containers.push(part);
  };
  containers.push(value);
  for (let container = containers.pop(); container !== undefined; container = containers.pop()) {
    bytes += CONTAINER_BYTES;
    if (Array.isArray(container)) {
      for (const part of container) count(part);
    } else {
      for (const key of Object.keys(container)) {
        bytes += STRING_BYTES + key.length;
        count(Reflect.get(container, key));
      }
    }
    if (values > MAX_VALUES) return Number.POSITIVE_INFINITY;
  }
  return bytes;
}
