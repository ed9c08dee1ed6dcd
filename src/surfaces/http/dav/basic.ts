// Basic credentials: the password is a token, the user name is ignored.

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i;

/** `Authorization` of a Basic request as that of a Bearer request; any other as it is. */
export function bearerOf(authorization: string): string {
  if (!isBasic(authorization)) return authorization;
  const [, encoded = ""] = BASIC.exec(authorization) ?? [];
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return `Bearer ${colon === -1 ? "" : text.slice(colon + 1)}`;
}

export const isBasic = (authorization: string | undefined): boolean => /^basic(?:\s|$)/i.test(authorization ?? "");
