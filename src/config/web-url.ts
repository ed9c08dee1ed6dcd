// Normal forms of web origins and base URLs.

/**
 * Normalises an origin to the form browsers send: lower-case host, without the default port.
 *
 * @param text validated by the schema: `http://` or `https://`, without a path
 * @returns `undefined` if it is not a valid URL
 */
export function normaliseOrigin(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

/**
 * Normalises a base URL: lower-case host, without the default port and trailing slashes.
 *
 * @param text validated by the schema: `http://` or `https://`, without credentials, query or fragment
 * @returns `undefined` if it is not a valid URL
 */
export function normaliseBaseUrl(text: string): string | undefined {
  return URL.canParse(text) ? withoutSlashes(new URL(text).href) : undefined;
}

/** A loop, since a regular expression for this takes quadratic time. */
function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}
