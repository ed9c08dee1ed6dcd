// Random changes of one root, each by one of the surfaces.

import fc from "fast-check";
import type { FileOutputs } from "../../../src/schema/types.js";
import { send } from "../../surfaces/http/client.js";
import { HTTP_HEADERS } from "../../surfaces/mcp/raw.js";
import { anyPlaces, inputOf, type OperationStep } from "./random-operations.js";
import { type Kind, seenByAgents, type VenueGround } from "./venue-ground.js";

const OPERATIONS = ["write", "append", "edit", "patch", "mkdir", "move", "copy", "delete"] as const;
const CALLED = ["library", "http", "mcp"] as const;

/** One change; most fail now and then, which changes nothing. */
export interface Step extends OperationStep {
  readonly by: (typeof CALLED)[number] | "files" | "webdav" | "profile" | "acp" | "command";
  /** An operation, a method, or a command. */
  readonly what: string;
}

const step = (by: fc.Arbitrary<Step["by"]>, what: readonly string[]): fc.Arbitrary<Step> =>
  fc.record({ by, what: fc.constantFrom(...what), ...anyPlaces });

/** What shells of either kind run, with `$a` and `$b` for two names. */
export const COMMANDS = [
  "echo more >> $a",
  "rm -rf $a",
  "mkdir -p $a; echo made > $a/made",
  "mv $a $b",
  "cp -r $a $b; echo 1 > one; echo 2 > two; rm -f one",
  "sed -i s/old/new/ $a",
  "rm -rf d; mkdir -p d; echo again > d/a",
] as const;

/** Changes by everything that does not need a program of the system. */
export const anySurface: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: step(fc.constantFrom(...CALLED), OPERATIONS) },
  { weight: 2, arbitrary: step(fc.constant("files"), ["PUT", "PATCH", "DELETE"]) },
  { weight: 2, arbitrary: step(fc.constant("webdav"), ["PUT", "MKCOL", "MOVE", "COPY", "DELETE"]) },
  { weight: 2, arbitrary: step(fc.constant("acp"), ["write"]) },
  { weight: 1, arbitrary: step(fc.constant("profile"), ["write"]) },
  { weight: 1, arbitrary: step(fc.constant("command"), COMMANDS) },
);

export const anyCommand: fc.Arbitrary<Step> = step(fc.constant("command"), [...COMMANDS, "[ -d $a ] || chmod 700 $a"]);

/** Makes a change. @returns whether it was made */
export async function make(ground: VenueGround, kind: Kind, step: Step): Promise<boolean> {
  switch (step.by) {
    case "library":
      return ground.invoke(`file:${step.what}` as keyof FileOutputs, inputOf(kind, step)).then(
        () => true,
        () => false,
      );
    case "http":
      return run(ground, `file:${step.what}`, inputOf(kind, step));
    case "mcp":
      return callTool(ground, `file_${step.what}`, inputOf(kind, step));
    case "files":
      return request(ground, `/api/v1/files/${kind}/${step.path}`, step.what, {
        body: step.what === "DELETE" ? undefined : step.content,
        headers: step.what === "PATCH" ? { "upload-offset": "5" } : {},
      });
    case "webdav":
      return request(ground, `/dav/${kind}/${step.path}`, step.what, {
        body: step.what === "PUT" ? step.content : undefined,
        headers: { destination: `${ground.url}/dav/${kind}/${step.to}` },
      });
    case "profile":
      return run(ground, `shell-${kind}:jettson_files_write`, { path: step.path, content: step.content });
    case "command":
      return runCommand(ground, kind, step.what.replaceAll("$a", step.path).replaceAll("$b", step.to));
    case "acp": {
      const path = `${seenByAgents(kind)}/${step.path}`;
      const { error } = await ground.agent(kind).ask("fs/write_text_file", { path, content: step.content });
      return error === undefined;
    }
  }
}

/** @throws Error if there was no command */
async function runCommand(ground: VenueGround, kind: Kind, command: string): Promise<boolean> {
  const answer = await post(ground, "/api/v1/run", {
    operation: `shell-${kind}:jettson_shell_run`,
    input: { command },
  });
  const text = await answer.text();
  if (!text.includes("exit_code")) throw new Error(text);
  return true;
}

async function run(ground: VenueGround, operation: string, input: object): Promise<boolean> {
  const { ok, status } = await post(ground, "/api/v1/run", { operation, input });
  if (status >= 500) throw new Error(`${operation}: ${status}`);
  return ok;
}

async function callTool(ground: VenueGround, name: string, args: object): Promise<boolean> {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  const text = await (await post(ground, "/mcp", body)).text();
  if (!text.includes('"result"')) throw new Error(text);
  return !text.includes('"isError":true');
}

const post = ({ url, headers }: VenueGround, path: string, body: object): Promise<Response> =>
  send(`${url}${path}`, { json: body, headers: { ...headers, ...HTTP_HEADERS } });

async function request(
  { url, headers: own }: VenueGround,
  path: string,
  method: string,
  { body, headers }: { readonly body: string | undefined; readonly headers: object },
): Promise<boolean> {
  const answer = await send(`${url}${path}`, {
    method,
    headers: { ...own, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  await answer.arrayBuffer();
  // A folder with files in it is deleted by WebDAV alone; other statuses from 500 on are faults.
  if (answer.status >= 500 && answer.status !== 507) throw new Error(`${method} ${path}: ${answer.status}`);
  return answer.ok;
}
