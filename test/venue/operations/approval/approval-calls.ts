// A venue whose root asks a person, an agent that is asked about, and a person who decides.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type { HostRootInput } from "../../../../src/config/types.js";
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
      const body = JSON.stringify({ code: url.split("=")[1] });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${ground.venue.url}/api/v1/login`, { method: "POST", headers, body });
      return ((await response.json()) as { token: string }).token;
    },
    /** Calls a tool over MCP. @returns the text of the answer */
    mcp: async (bearer: string | undefined, name: string, args: object): Promise<string> => {
      const headers = {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        authorization: `Bearer ${bearer}`,
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
      return (await fetch(`${ground.venue.url}/mcp`, { method: "POST", headers, body })).text();
    },
    decide: (id: string, by: CallOptions, decision = "once", more: object = {}) =>
      ground.call("approval:decide", { id, decision, ...more }, by),
    open: async (approve: ApproveRule = { for: ["delete", "overwrite", "edit", "move"] }) => {
      await ground.open({ file: { roots: { docs: { path: "docs", approve }, tmp: { temp: true } } } });
      writeFileSync(join(ground.base, "docs/sub/a.txt"), "one\ntwo\n");
    },
  };
}
