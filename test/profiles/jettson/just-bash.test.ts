import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createFileAdapter,
  createProfile,
  type FileAdapter,
  type InvokeContext,
  type ToolProfile,
} from "../../../src/index.js";

const OWNER = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
const ROOTS = { temp: { temp: true }, drive: { dlfs: "notes" } } as const;

describe.each(["temp", "drive"] as const)("jettson_shell_run by just-bash on a %s root", (kind) => {
  let files: FileAdapter | undefined;
  let jettson: ToolProfile | undefined;
  const context: InvokeContext = kind === "drive" ? { callerDID: OWNER, authentication: "identity" } : {};
  const call = async (tool: string, args: object) => ({ ...(await jettson?.call(`jettson_${tool}`, args, context)) });
  const sh = (command: string, more: object = {}) => call("shell_run", { command, ...more });
  beforeAll(async () => {
    files = await createFileAdapter({ roots: { r: ROOTS[kind] } });
    const binding = { profile: "jettson", root: "r", prefix: "ws", shell: { driver: "just-bash" } } as const;
    jettson = createProfile(files, binding);
    await jettson.ready;
  });
  afterAll(() => files?.close());

  test("shares its files with the tools, which is all that it sees", async () => {
    await call("files_write", { path: "a.csv", content: "id\n2\n1\n" });
    expect(await sh("sort a.csv | head -2 > b.csv && cat b.csv; pwd; exit 3")).toEqual({
      ...{ stdout: "1\n2\n/workspace\n", stderr: "", exit_code: 3, truncated: false, timed_out: false },
    });
    expect(await call("files_read", { path: "b.csv" })).toMatchObject({ content: "1\n2\n" });
    expect(await sh("cat /etc/passwd")).toMatchObject({ stdout: "", exit_code: 1 });
  });

  test("is ended in time", async () => {
    expect(await sh("sleep 30", { timeout_seconds: 0.5 })).toMatchObject({
      exit_code: 124,
      timed_out: true,
    });
  });

  test("says that it has no programs", () => {
    const tool = jettson?.tools.find(({ name }) => name === "jettson_shell_run");
    expect(tool?.description).toContain("no python3, node, npm, git, curl");
  });
});
