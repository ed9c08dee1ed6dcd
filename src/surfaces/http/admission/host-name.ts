/**
 * The host name in a `Host` header, without port and brackets, in lower case.
 *
 * @returns `undefined` for an invalid header
 */
export function parseHostName(header: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/i.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
