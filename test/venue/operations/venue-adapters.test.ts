import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { AuditRecord } from "../../../src/audit/record.js";
import { parseConfig } from "../../../src/config/load.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { PlugIn } from "../../../src/index.js";
import { loadOperationSchema } from "../../../src/schema/load.js";
import { closedAccess } from "../../../src/venue/identity/access.js";
import { createVenueAdapters, VENUE_ADAPTERS, VENUE_OPERATIONS } from "../../../src/venue/operations/venue-adapters.js";
import { openVenue } from "../../../src/venue/start/open-venue.js";
import { failureOf } from "../../ops/ground.js";
import { bodyOf } from "../../surfaces/http/client.js";
import { mcpClient } from "../../surfaces/mcp/sessions.js";
import { now, READ_DOCS, useGround } from "./fixture.js";

const project = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, project), "utf8");
const names = VENUE_OPERATIONS.map(({ name }) => name);
const each = test.each(
  names.map((name): [string, string, string] => {
    const [adapter = "", operation = ""] = name.split(":");
    return [name, adapter, operation];
  }),
);

describe("each operation of the venue", () => {
  each("has an adapter, a schema and a test: %s", (_name, adapter, operation) => {
    expect(Object.keys(VENUE_ADAPTERS)).toContain(adapter);
    expect(existsSync(new URL(`schemas/${adapter}/${operation}.json`, project))).toBe(true);
    const folder = `test/venue/operations/${adapter}`;
    const tests = readdirSync(new URL(folder, project)).map((file) => read(`${folder}/${file}`));
    expect(tests.join("")).toContain(`"${adapter}:${operation}"`);
  });

  test("has a file, and each such file and each schema is registered", () => {
    const room = new URL("src/venue/operations", project);
    const files = readdirSync(room, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && /: VenueOperation</.test(read(`src/venue/operations/${file}`)),
    );
    const expected = names.map((name) => `${name.replace(":", "/")}.ts`);
    expect(files.sort()).toEqual(expected.sort());
    const schemas = Object.keys(VENUE_ADAPTERS).flatMap((adapter) =>
      readdirSync(new URL(`schemas/${adapter}`, project)).map((file) => `${adapter}:${file.replace(".json", "")}`),
    );
    expect(schemas.sort()).toEqual([...names].sort());
  });

  each("has a schema that compiles strictly, lets nothing else pass, and says what it is: %s", (name, adapter, op) => {
    const { $schema, $id } = JSON.parse(read(`schemas/${adapter}/${op}.json`));
    expect([$schema, $id]).toEqual(["https://json-schema.org/draft/2020-12/schema", name.replace(":", "/")]);
    const { title, description, input, output } = loadOperationSchema(op, adapter);
    for (const schema of [input, output]) {
      expect(() => new Ajv({ strict: true }).compile(schema)).not.toThrow();
      expect(() => new Ajv2020({ strict: true }).compile(schema)).not.toThrow();
      expect(schema["additionalProperties"]).toBe(false);
    }
    expect(title).toMatch(/^[A-Z].{2,30}$/);
    expect(description).toMatch(/^[A-Z].{10,160}$/);
  });

  each("has a heading in the documentation that names every field: %s", (name, adapter, op) => {
    const { input, output } = JSON.parse(read(`schemas/${adapter}/${op}.json`));
    const parts = read("docs/operations.md").split(/^## /m);
    const section = parts.find((part) => part.startsWith(`${name}\n`)) ?? "";
    for (const field of [...Object.keys(input.properties), ...Object.keys(output.properties)]) {
      expect(section).toMatch(new RegExp(`\\b${field}\\b`));
    }
  });

  test("stands in the documentation in their order", () => {
    const headings = [...read("docs/operations.md").matchAll(/^## ((?:ucan|auth|audit|approval|lock):\w+)$/gm)].map(
      ([, name]) => name,
    );
    expect(headings).toEqual(names);
  });
});

const ground = useGround();

describe("the operations of the venue are hosted like those of files:", () => {
  test("in the catalogue, by path and by name", async () => {
    await ground.open();
    const get = (path: string) => bodyOf(fetch(`${ground.venue.url}/api/v1/${path}`));
    const listed = (await get("operations")) as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(
      expect.arrayContaining(names.map((name) => `v/ops/${name.replace(":", "/")}`)),
    );
    expect(await get("operations/ucan:issue")).toMatchObject({
      name: "v/ops/ucan/issue",
      input: { required: ["aud", "att"] },
    });
    expect(await ground.call("v/ops/auth/whoami")).toMatchObject({ status: "COMPLETE", name: "Who am I" });
  });

  test("as tools over MCP only where they are named, with answers as their schemas say", async () => {
    const connect = () => mcpClient({ url: ground.venue.url, token: ground.venue.localToken });
    await ground.open();
    const plain = await connect();
    expect((await plain.listTools()).tools.every(({ name }) => name.startsWith("file_"))).toBe(true);
    await plain.close();
    await ground.venue.close();
    await ground.open({ mcp: { includeAdapters: ["ucan", "auth", "audit"] } });
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["ucan_issue", "ucan_verify", "ucan_revoke"],
      ...["auth_whoami", "auth_issue", "auth_list", "auth_revoke"],
      "audit_query",
    ]);
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })) as {
        structuredContent?: Record<string, unknown>;
        isError?: boolean;
      };
    const issued = await call("ucan_issue", { aud: ground.bob.did, att: [READ_DOCS], exp: now() + 60 });
    const { token, id } = issued.structuredContent ?? {};
    expect((await call("ucan_verify", { token })).structuredContent).toMatchObject({ valid: true });
    expect((await call("ucan_revoke", { id })).structuredContent).toEqual({ revoked: true, id });
    expect((await call("ucan_verify", { token })).structuredContent).toMatchObject({ reasons: ["revoked"] });
    expect((await call("auth_whoami", {})).structuredContent).toMatchObject({ operator: true });
    expect(await call("ucan_revoke", {})).toMatchObject({ isError: true });
    await client.close();
  });

  test("for whoever started the venue, who is its operator, and for nobody when only files are asked for", async () => {
    const config = parseConfig(
      { stateDir: "state", seed: "11".repeat(32), file: { roots: { docs: "docs" } } },
      { baseDir: ground.base, isGrant: () => true },
    );
    const open = (filesOnly: boolean) => openVenue(config, { listens: false, env: {}, log: silentLog, filesOnly });
    const venue = await open(false);
    const run = (operation: string, input: object, context = {}) =>
      venue.host.run({ operation, input, caller: venue.host.did, context }).result;
    const did = venue.host.did;
    expect(await run("auth:whoami", {})).toMatchObject({ did, authentication: "process", operator: true });
    const issued = await run("ucan:issue", { aud: ground.bob.did, att: [READ_DOCS] });
    const { id } = issued as { id: string };
    expect(await failureOf(run("ucan:revoke", { id }, { caps: [] }))).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(await run("ucan:revoke", { id })).toEqual({ revoked: true, id });
    await venue.close();
    const files = await open(true);
    expect(files.host.catalogue.adapters.map(({ name }) => name)).toEqual(["file"]);
    await files.close();
  });

  test("another adapter cannot have their names", async () => {
    await ground.open();
    const twin: PlugIn = { name: "ucan", description: "Another.", operations: [], invoke: async () => ({}) };
    expect(() => ground.venue.register(twin)).toThrow('Cannot host "ucan": registered twice');
  });
});

describe("a call of the venue's own operations", () => {
  const clock = { nowMs: () => 7, monotonicMs: () => 0 };
  const auth = () => ({
    grants: [],
    clockSkew: 30,
    ucan: { maxLifetime: 60, allowNoExpiry: false, acceptUnversionedCovia: false },
  });

  function adapters(audit: AuditRecord[], held: () => never | { grants: []; truncated: false }) {
    const rights = () => ({
      visibleRoots: () => [],
      allows: () => false,
      held,
      delegable: () => ({ expiresAt: null, via: [] }),
    });
    const parts = {
      access: closedAccess,
      files: { roots: [], rights },
      clock,
      auth,
      ...{ url: () => undefined, locks: () => undefined, publicCaps: () => [] },
      keyLasts: true,
    };
    const sink = { write: (record: AuditRecord) => void audit.push(record), close: async () => {} };
    return createVenueAdapters(parts, { clock, audit: sink, logInternal: () => {} });
  }

  test("leaves one audit record, whatever became of it", async () => {
    const audit: AuditRecord[] = [];
    const [ucan, whoami] = adapters(audit, () => {
      throw new Error("unforeseen");
    });
    const fail = (call: Promise<unknown> | undefined) => expect(call).rejects.toThrow();
    await fail(whoami?.invoke("auth:whoami", {}));
    await fail(ucan?.invoke("ucan:verify", { tokn: "x" }));
    await fail(ucan?.invoke("ucan:revoke", { id: "A".repeat(43) }, { callerDID: "did:x:y", jobId: "1" }));
    expect(
      audit.map(({ caller, operation, resource, outcome, job }) => [caller, operation, resource, outcome, job]),
    ).toEqual([
      ["operator", "auth:whoami", "", "INTERNAL", undefined],
      ["operator", "ucan:verify", "", "INVALID_INPUT", undefined],
      ["did:x:y", "ucan:revoke", `ucan:${"A".repeat(43)}`, "CAPABILITY_DENIED", "1"],
    ]);
  });

  test("that was cancelled does not begin", async () => {
    let calls = 0;
    const [, whoami] = adapters([], () => {
      calls += 1;
      return { grants: [], truncated: false };
    });
    const signal = AbortSignal.abort();
    await expect(whoami?.invoke("auth:whoami", {}, { signal })).rejects.toMatchObject({ code: "ABORTED" });
    expect(calls).toBe(0);
    expect(await whoami?.invoke("auth:whoami", {})).toMatchObject({ grants: [] });
  });
});
