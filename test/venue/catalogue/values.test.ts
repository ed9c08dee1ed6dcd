import { describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Adapter } from "../../../src/core/ports/adapter.js";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { createCatalogue, operationAsset } from "../../../src/venue/catalogue/catalogue.js";
import { createValues } from "../../../src/venue/catalogue/values.js";
import { fakeAdapter } from "./fake-adapter.js";

const FACTS = {
  did: "did:key:zVenue",
  name: "test",
  version: "1.2.3",
  started: 1_790_000_000_000,
  protocols: ["http"],
};

/** The values of a venue that hosts these, and its catalogue. */
function hosting(...adapters: Adapter[]) {
  const catalogue = createCatalogue({
    did: FACTS.did,
    registerOperation: () => "0".repeat(64),
    findAsset: () => undefined,
  });
  for (const adapter of adapters) catalogue.add(adapter);
  const values = createValues({
    ...FACTS,
    adapters: () => catalogue.adapters,
    operations: () => catalogue.list(),
    revision: () => catalogue.revision,
    url: () => "http://localhost:8080",
    servesDav: true,
  });
  return { values, catalogue };
}

const noop = () => ({});

interface Skill {
  readonly content: { readonly contentType: string; readonly inline: string };
  readonly skill: { readonly tools: readonly string[] };
}

describe("the tree of values", () => {
  test("says who the venue is, which adapters it has and what they can do", () => {
    const file = fakeAdapter({ read: noop, walk: noop });
    const { values } = hosting(file, fakeAdapter({}, "idle"));
    const [read, walk] = file.operations.map(operationAsset);
    expect(values()).toEqual({
      v: {
        info: {
          ...FACTS,
          url: "http://localhost:8080",
          adapters: {
            file: { name: "file", description: "A fake", operations: ["v/ops/file/read", "v/ops/file/walk"] },
            idle: { name: "idle", description: "A fake", operations: [] },
            documents: {
              supported: ["pdf", "docx", "xlsx", "pptx", "odt", "ods", "html", "xhtml", "ipynb", "text"],
              maxChars: 1_000_000,
            },
          },
        },
        ops: { file: { read, walk }, idle: {} },
      },
    });
  });

  test("says where the drives can be mounted", () => {
    const { values } = hosting(fakeAdapter({}, "dlfs"));
    const url = "http://localhost:8080/dlfs/";
    const webdav = { enabled: true, url, path: "/dlfs/", windows: "\\\\localhost@8080\\DavWWWRoot\\dlfs" };
    expect(values()).toMatchObject({ v: { info: { adapters: { dlfs: { webdav } } } } });
  });

  test("has a skill for files that names what is offered, and in few tokens", () => {
    const ofFiles = (names: readonly string[]) =>
      fakeAdapter(Object.fromEntries(names.map((name) => [name, noop])), "file");
    const all = hosting(ofFiles(OPERATIONS.map(({ name }) => name)), fakeAdapter({ "list-drives": noop }, "dlfs"));
    const { skills } = (all.values() as { v: { skills: { files: Skill; data: object } } }).v;
    expect(skills.data).toEqual({ files: skills.files });
    expect(skills.files.content.contentType).toBe("text/markdown");
    expect(encode(skills.files.content.inline).length).toBeLessThanOrEqual(900);
    const few = hosting(ofFiles(["roots", "read"])).values() as { v: { skills: { files: Skill } } };
    expect(few.v.skills.files.skill.tools).toEqual(["v/ops/file/roots", "v/ops/file/read"]);
    for (const { files, offered } of [
      { files: skills.files, offered: all.catalogue.list().map(({ path }) => path) },
      { files: few.v.skills.files, offered: ["v/ops/file/roots", "v/ops/file/read"] },
    ]) {
      for (const [, adapter, name] of files.content.inline.matchAll(/`(file|dlfs):([\w-]+)`/g)) {
        expect(offered).toContain(`v/ops/${adapter}/${name}`);
      }
    }
  });

  test("is JSON and nothing else", () => {
    const tree = hosting(fakeAdapter({ read: noop })).values();
    expect(JSON.parse(JSON.stringify(tree))).toEqual(tree);
  });

  test("holds adapters whose names mean something to JavaScript", () => {
    const { values } = hosting(fakeAdapter({ valueof: noop }, "constructor"));
    expect(JSON.stringify(values())).toContain('"ops":{"constructor":{"valueof":{"name":"Fake valueof"');
  });

  test("is made once for each state of the catalogue", () => {
    const { values, catalogue } = hosting(fakeAdapter({ read: noop }));
    const before = values();
    expect(values()).toBe(before);
    catalogue.add(fakeAdapter({ go: noop }, "late"));
    expect(values()).not.toBe(before);
    expect(values()).toMatchObject({ v: { info: { adapters: { late: { operations: ["v/ops/late/go"] } } } } });
    expect(values()).toBe(values());
  });
});

describe("the asset of an operation", () => {
  test("says how it is called and what it takes and gives", () => {
    const [metadata] = fakeAdapter({ read: noop }).operations;
    expect(metadata && operationAsset(metadata)).toEqual({
      name: "Fake read",
      description: "Does read",
      operation: {
        adapter: "file:read",
        toolName: "file_read",
        input: { type: "object", title: "read" },
        output: { type: "object" },
      },
    });
  });
});
