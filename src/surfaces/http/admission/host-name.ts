/**
 * The name in a `Host` header, without port and brackets, in lower case.
 *
 * @returns `undefined` when the header is no host at all
 */
export function parseHostName(header: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/i.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
