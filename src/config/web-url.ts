/**
 * The form in which browsers send an origin: host in lower case, without the default port.
 *
 * @param text has passed the schema, so it is `http://` or `https://` and something without a path
 * @returns `undefined` when it is no URL all the same
 */
export function normaliseOrigin(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

/**
 * A base URL in one form: host in lower case, without the default port and trailing slashes.
 *
 * @param text has passed the schema, so it is `http://` or `https://` and something without credentials, query or fragment
 * @returns `undefined` when it is no URL all the same
 */
export function normaliseBaseUrl(text: string): string | undefined {
  return URL.canParse(text) ? withoutSlashes(new URL(text).href) : undefined;
}

/** A loop, since a pattern for this looks at each slash again and again. */
function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}
