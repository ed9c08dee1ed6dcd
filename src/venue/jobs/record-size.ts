/** What an object, an array or a key costs besides its parts. */
const CONTAINER_BYTES = 16;
const SCALAR_BYTES = 8;
/** Values looked at before giving up; also ends a walk through something that contains itself. */
const MOST_VALUES = 5_000_000;

/**
 * Estimates how many bytes a value keeps alive: a character counts as one byte. Nothing is encoded, so a large text costs
 * no more than a short one, and however deep the value is, the stack does not grow.
 *
 * @returns bytes; `Infinity` for a value of more than five million parts
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
