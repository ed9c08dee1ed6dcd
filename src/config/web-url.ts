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

/**
 * Normalises a host name: lower case, without the brackets of an IPv6 literal.
 *
 * @param text validated by the schema: neither scheme, port nor path
 * @returns `undefined` if there can be no such host
 */
export function normaliseHost(text: string): string | undefined {
  const url = `http://${text.includes(":") && !text.startsWith("[") ? `[${text}]` : text}/`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : undefined;
}

/** A loop, since a regular expression for this takes quadratic time. */
function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}
