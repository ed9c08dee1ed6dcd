// Issuing and using access tokens on a ground.

import { expect } from "@jest/globals";
import { send } from "../../surfaces/http/client.js";
import type { Answer, CallOptions, Ground } from "./fixture.js";

export const STATIC = "static-token-static-token-static-token";
export const SUB = { with: "file://docs/sub/", can: "crud/read" };
export const ALL_DOCS = { with: "file://docs/", can: "crud" };
export const FILE = { root: "docs", path: "sub/a.txt" };

export interface Issued {
  readonly id: string;
  readonly did: string;
  readonly expires: number;
  readonly token: string;
  readonly url: string;
  readonly note?: string;
}

export function accessOf(ground: Ground) {
  const issued = (answer: Answer): Issued => {
    expect(answer.error).toBeUndefined();
    return answer.output as unknown as Issued;
  };
  return {
    /** Issues, as the operator unless told otherwise. */
    issue: async (input: object, options?: CallOptions): Promise<Issued> => {
      const by = options ?? { bearer: ground.venue.localToken };
      return issued(await ground.call("auth:issue", { label: "test", ...input }, by));
    },
    read: (bearer: string, input: object = FILE) => ground.call("file:read", input, { bearer }),
    revoke: (id: string, bearer: string | undefined, more: object = {}) =>
      ground.call("auth:revoke", { id, ...more }, { bearer }),
    /** Status of any call with this bearer: 401 where it is none. */
    statusWith: async (token: string): Promise<number> =>
      (await send(`${ground.venue.url}/api/v1/jobs`, { token })).status,
  };
}
