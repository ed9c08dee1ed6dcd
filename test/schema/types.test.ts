import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, type FileAdapter, type FileInputs, type FileOutputs } from "../../src/index.js";

let adapter: FileAdapter;
beforeAll(async () => {
  adapter = await createFileAdapter();
});
afterAll(() => adapter.close());

/** `true` only for two types that are the same; anything else is an error of the compiler. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
const same = <A, B>(proof: Same<A, B>): boolean => proof;

describe("the generated types", () => {
  test("are what the schemas say", async () => {
    const script = new URL("../../scripts/generate-types.mjs", import.meta.url).href;
    const { generateTypes } = (await import(script)) as { generateTypes: () => Promise<string> };
    const types = readFileSync(new URL("../../src/schema/types.ts", import.meta.url), "utf8");
    expect(types).toBe(await generateTypes());
  });
});

// What follows is checked by the compiler; that it runs shows that the types are not a promise alone.
describe("a typed call", () => {
  test("gives the output of its operation", async () => {
    const written = adapter.invoke("file:write", { root: "tmp", path: "a", content: "x" });
    expect(same<typeof written, Promise<FileOutputs["file:write"]>>(true)).toBe(true);
    expect((await written).created).toBe(true);
    const read = await adapter.invoke("file:read", { root: "tmp", path: "a", mode: "text" });
    expect(same<typeof read.content, string | undefined>(true)).toBe(true);
    expect(same<typeof read.encoding, string | undefined>(true)).toBe(true);
    expect(read.content).toBe("x");
    const listed = await adapter.invoke("file:list", { root: "tmp" });
    expect(same<(typeof listed.entries)[number]["type"], "file" | "directory" | "symlink" | "other">(true)).toBe(true);
    expect(listed.entries.map(({ name }) => name)).toEqual(["a"]);
  });

  test("takes any JSON value for a value", async () => {
    expect(same<FileInputs["file:write"]["value"], unknown>(true)).toBe(true);
    for (const value of [null, 1, "text", true, [1], { a: 1 }]) {
      await adapter.invoke("file:write", { root: "tmp", path: "a.json", value });
      const read = await adapter.invoke("file:read", { root: "tmp", path: "a.json", mode: "json" });
      expect(read.value).toEqual(value);
    }
  });

  test("does not compile with an input that is not its own", async () => {
    const { invoke } = adapter;
    const typed = <Name extends keyof FileInputs>(name: Name, input: FileInputs[Name]) => invoke(name, input);
    // @ts-expect-error path is missing
    await expect(typed("file:read", { root: "tmp" })).rejects.toThrow("'path' is required");
    // @ts-expect-error no such mode
    await expect(typed("file:read", { root: "tmp", path: "a", mode: "yaml" })).rejects.toThrow("Unknown mode 'yaml'");
    // @ts-expect-error a misspelt field
    await expect(typed("file:delete", { root: "tmp", path: "a", recusive: true })).rejects.toThrow("recursive");
    // @ts-expect-error no such operation
    await expect(typed("file:raed", { root: "tmp", path: "a" })).rejects.toThrow("Unknown file operation");
  });

  test("of an operation that only its name tells is not typed", async () => {
    const name: string = "file:stat";
    const stat = adapter.invoke(name, { root: "tmp", path: "" });
    expect(same<typeof stat, Promise<unknown>>(true)).toBe(true);
    expect(await stat).toMatchObject({ exists: true });
  });
});
