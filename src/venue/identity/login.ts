// Signing in by the code of a link.

import type { Login } from "../../surfaces/http/host.js";
import type { Access } from "./access.js";

/** The login of a venue. @returns `undefined` where it issues no access tokens */
export function createLogin({ accessTokens, bearerOf }: Pick<Access, "accessTokens" | "bearerOf">): Login | undefined {
  if (accessTokens === undefined) return undefined;
  return (code) => {
    const made = accessTokens.login(code);
    if ("fault" in made) return made.fault === "wrong" ? undefined : { retryMs: made.retryMs };
    const { entry, secret } = made;
    // Whoever made the link may have been revoked since; then the token is worth nothing.
    const did = bearerOf(entry)?.did;
    return did === undefined ? undefined : { id: entry.id, did, expires: entry.expires, token: secret };
  };
}
