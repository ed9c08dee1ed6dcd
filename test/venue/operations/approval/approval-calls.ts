// A venue whose root asks a person, an agent that is asked about, and a person who decides.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type { HostRootInput } from "../../../../src/config/types.js";
import { send } from "../../../surfaces/http/client.js";
import { httpRequestOf, toolCall } from "../../../surfaces/mcp/raw.js";
import { accessOf } from "../access-calls.js";
import type { Answer, CallOptions, Ground } from "../fixture.js";

export const ALL = { with: "file://docs/", can: "*" };
export const WRITE = { root: "docs", path: "sub/a.txt", content: "new\n" };

export type ApproveRule = NonNullable<HostRootInput["approve"]>;

export interface Asked {
  readonly approvalId: string;
  readonly expires: number;
  readonly effect: readonly Record<string, unknown>[];
  readonly more?: number;
  readonly diff?: string;
}

/** What a call was answered that a person has to allow. */
export const asked = (answer: Answer): Asked => {
  expect(answer).toMatchObject({ status: "FAILED", errorCode: "APPROVAL_REQUIRED" });
  return answer.errorData as unknown as Asked;
};

export function approvalsOf(ground: Ground) {
  const { issue } = accessOf(ground);
  return {
    issue,
    textOf: (path: string) => readFileSync(join(ground.base, "docs", path), "utf8"),
    /** Signs in by a link, as a person does. */
    logIn: async (): Promise<string> => {
      const { url } = await issue({ link: true });
      const response = await send(`${ground.venue.url}/api/v1/login`, { json: { code: url.split("=")[1] } });
      return ((await response.json()) as { token: string }).token;
    },
    /** Calls a tool over MCP. @returns the text of the answer */
    mcp: async (token: string | undefined, name: string, args: object): Promise<string> => {
      const request = httpRequestOf("legacy", { id: 1, ...toolCall(name, args) });
      return (await send(`${ground.venue.url}/mcp`, { ...request, token })).text();
    },
    decide: (id: string, by: CallOptions, decision = "once", more: object = {}) =>
      ground.call("approval:decide", { id, decision, ...more }, by),
    open: async (approve: ApproveRule = { for: ["delete", "overwrite", "edit", "move"] }) => {
      await ground.open({ file: { roots: { docs: { path: "docs", approve }, tmp: { temp: true } } } });
      writeFileSync(join(ground.base, "docs/sub/a.txt"), "one\ntwo\n");
    },
  };
}
