import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter, type ToolProfile } from "../../src/index.js";
import { needs } from "../needs.js";
import { bwrapHere } from "../sandbox/ground.js";

const { possible, reason } = await bwrapHere();
const here = needs(possible, reason);

const PREFIX = "hidden-place";

/** Ways in which a tool may fail: links, what is denied, what is missing, what is of another kind, and missing rights. */
const PATHS = ["", "link", "link/x", "dangling", "no.key", "keys/x", "none", "none/x", "dir", "file/x", "../x", "file"];

describe.each(["everruns", "jettson"] as const)("the prefix of a binding of %s", (name) => {
  let adapter: FileAdapter;
  let profile: ToolProfile;
  let top: ToolProfile;

  beforeAll(async () => {
    adapter = await createFileAdapter({ roots: { r: { temp: true, deny: ["*.key", "**/keys"] } } });
    profile = createProfile(adapter, { profile: name, root: "r", prefix: PREFIX, shell: {} });
    top = createProfile(adapter, { profile: "everruns", root: "r", shell: {} });
    await Promise.all([profile.ready, top.ready]);
    await adapter.invoke("file:mkdir", { root: "r", path: `${PREFIX}/dir`, parents: true });
    await adapter.invoke("file:write", { root: "r", path: `${PREFIX}/file`, content: "x" });
    await adapter.invoke("file:write", { root: "r", path: "other/secret", content: "SECRET", parents: true });
  });
  afterAll(() => adapter.close());

  const shell = name === "everruns" ? "bash" : "jettson_shell_run";

  test("is in no text that a tool answers, whatever goes wrong", async () => {
    const caps = [
      undefined,
      [],
      [{ with: `file://r/${PREFIX}/dir/`, can: "crud" }],
      [{ with: "file://r/", can: "exec/run" }],
    ];
    let failures = 0;
    for (const tool of profile.tools) {
      for (const path of PATHS) {
        for (const list of caps) {
          const args = argumentsOf(tool, path);
          const answer = await profile.call(tool.name, args, list === undefined ? {} : { caps: list });
          if ("error" in answer) failures++;
          expect(JSON.stringify(answer)).not.toContain(PREFIX);
        }
      }
    }
    expect(failures).toBeGreaterThan(20);
  });

  here("that is a link is no way for a command either, with or without the right to write", async () => {
    const linked = createProfile(adapter, { profile: name, root: "r", prefix: "linked-place/in", shell: {} });
    await linked.ready;
    await adapter.invoke("file:write", { root: "r", path: "target/in/secret", content: "SECRET", parents: true });
    expect(await top.call("bash", { command: "ln -sfn target linked-place" })).toMatchObject({ exit_code: 0 });
    const refusal = name === "everruns" ? "symlink" : "escapes /workspace";
    const reading = name === "everruns" ? "read_file" : "jettson_files_read";
    expect(await linked.call(reading, { path: "secret" })).toEqual({ error: expect.stringContaining(refusal) });
    for (const context of [{}, { caps: [{ with: "file://r/", can: "exec/run" }] }]) {
      const answer = await linked.call(shell, { command: "cat /workspace/secret" }, context);
      expect(answer).toEqual({ error: expect.stringContaining(refusal) });
      expect(JSON.stringify(answer)).not.toContain("linked-place");
    }
  });

  here("that the operator denies is not named", async () => {
    const denied = createProfile(adapter, { profile: name, root: "r", prefix: "keys/session", shell: {} });
    await denied.ready;
    const answer = await denied.call(shell, { command: "true" });
    expect(answer).toEqual({ error: expect.stringContaining("denied by policy") });
    expect(JSON.stringify(answer)).not.toContain("keys");
  });

  here("does not keep a caller from being told that there is too much to hide", async () => {
    // Put there by a program of the host: what commands leave is cleared when they end.
    const folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
    mkdirSync(join(folder, "crowded-place"));
    for (let index = 0; index <= 1000; index++) writeFileSync(join(folder, "crowded-place", `${index}.key`), "");
    const host = await createFileAdapter({ roots: { r: { path: folder, deny: ["*.key"] } } });
    const crowded = createProfile(host, { profile: name, root: "r", prefix: "crowded-place", shell: {} });
    await crowded.ready;
    const told = "too many denied entries to hide: 1001, limit 1000";
    const error = name === "everruns" ? told : `Jettson Shell rejected the command: ${told}`;
    expect(await crowded.call(shell, { command: "true" })).toEqual({ error });
    const [tool, entries] = name === "everruns" ? ["list_directory", []] : ["jettson_files_list", []];
    expect(await crowded.call(tool, {})).toMatchObject({ entries });
    await host.invoke("file:write", { root: "r", path: "crowded-place/still", content: "x" });
    await host.close();
    rmSync(folder, { recursive: true });
  });
});

function argumentsOf({ input }: ToolProfile["tools"][number], path: string): Record<string, unknown> {
  const values: Record<string, unknown> = {
    ...{ path, content: "x", command: `cat '${path}'; mkdir dir; ls -la`, pattern: "x" },
    ...{ working_dir: path, expected_hash: "", old_text: "x", new_text: "y" },
  };
  const { properties } = input;
  const known = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return Object.fromEntries(Object.entries(values).filter(([key]) => known.includes(key)));
}
