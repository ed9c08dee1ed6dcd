/** Bytes counted per object, array and key, besides its parts. */
const CONTAINER_BYTES = 16;
const SCALAR_BYTES = 8;
/** Maximum values visited; also ends the walk of a cyclic value. */
const MOST_VALUES = 5_000_000;

/**
 * Estimates the bytes a value keeps alive; a character counts as one byte. Nothing is encoded, so long texts cost no
 * more time than short ones. Iterative, so deep values cannot overflow the stack.
 *
 * @returns bytes; `Infinity` for more than five million values
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return SCALAR_BYTES;
  const containers: object[] = [];
  let bytes = 0;
  let values = 0;
  const count = (part: unknown) => {
    values += 1;
    if (typeof part === "string") bytes += part.length;
    else if (typeof part !== "object" || part === null) bytes += SCALAR_BYTES;
    else if (ArrayBuffer.isView(part)) bytes += part.byteLength;
    else containers.push(part);
  };
  count(value);
  for (let container = containers.pop(); container !== undefined; container = containers.pop()) {
    bytes += CONTAINER_BYTES;
    if (Array.isArray(container)) {
      for (const part of container) count(part);
    } else {
      for (const key of Object.keys(container)) {
        bytes += key.length;
        count(Reflect.get(container, key));
      }
    }
    if (values > MOST_VALUES) return Number.POSITIVE_INFINITY;
  }
  return bytes;
}
