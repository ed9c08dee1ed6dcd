import { describe, expect, test } from "@jest/globals";
import { type BannerFacts, banner } from "../../../src/cli/output/banner.js";

const scratch = { name: "scratch", kind: "temp" as const, readOnly: false };
const docs = { name: "docs", kind: "host" as const, readOnly: false, description: "Manuals" };

const facts: BannerFacts = {
  name: "venue-files",
  version: "1.2.3",
  url: "http://localhost:8080",
  did: "did:key:zMe",
  roots: [scratch, docs, { name: "old", kind: "host" as const, readOnly: true }],
  publicCaps: [
    { with: "file://", can: "crud/read" },
    { with: "file://scratch/", can: "crud" },
  ],
  publicAccess: true,
  mcp: true,
  webdav: false,
  tokens: 0,
};

const bannerOf = (changes: Partial<BannerFacts>) => banner({ ...facts, ...changes });
const curlOf = (text: string) => /Try it\n {2}(.*)\n/.exec(text)?.[1];
const operationOf = (text: string) => /"operation":"v\/ops\/file\/(\w+)"/.exec(text)?.[1];

test("tells where it listens, and as whom", () => {
  expect(bannerOf({})).toMatch(/^venue-files 1\.2\.3 listens on http:\/\/localhost:8080\nDID did:key:zMe\n/);
});

test("tells the port that a name outside leads to", () => {
  const outside = { url: "https://files.example.com/files", localUrl: "http://127.0.0.1:41234" };
  expect(bannerOf(outside)).toContain(
    " listens on http://127.0.0.1:41234, known as https://files.example.com/files\nDID",
  );
  expect(bannerOf({ localUrl: facts.url })).toContain(` listens on ${facts.url}\nDID`);
});

test("tells how to mount the roots, where WebDAV is on and there is a port", () => {
  const mount = "WebDAV: mount http://localhost:8080/dav/ with any user name, a token as password.";
  expect(bannerOf({ webdav: true })).toContain(mount);
  expect(bannerOf({})).not.toContain("WebDAV");
  expect(bannerOf({ webdav: true, socket: "/run/v.sock" })).not.toContain("WebDAV");
});

test("shows the roots as a table", () => {
  expect(bannerOf({})).toContain(
    [
      "Roots",
      "  scratch  temp  read-write  anonymous callers: read, write, delete",
      "  docs     host  read-write  anonymous callers: read                 Manuals",
      "  old      host  read-only   anonymous callers: read",
      "",
    ].join("\n"),
  );
});

test("keeps a description on its line", () => {
  const text = bannerOf({
    roots: [{ name: "a", kind: "host" as const, readOnly: false, description: "one\n\u001b[2Jtwo" }],
  });
  expect(text).toContain("one\\u{a}\\u{1b}[2Jtwo\n");
});

describe("what anonymous callers may do in a root:", () => {
  test.each<[string, { with: string; can: string }[], string]>([
    ["no grant", [], "nothing"],
    ["a grant elsewhere", [{ with: "file://other/", can: "crud" }], "nothing"],
    ["a root whose name starts alike", [{ with: "file://docs2/", can: "crud" }], "nothing"],
    ["a grant for every root", [{ with: "file://", can: "*" }], "read, write, delete"],
    ["a grant without the last slash", [{ with: "file://docs", can: "crud/*" }], "read, write, delete"],
    ["one verb", [{ with: "file://docs/", can: "crud/write" }], "write"],
    ["a part of the root", [{ with: "file://docs/pub/", can: "crud/read" }], "read in parts"],
    [
      "more in a part than in all",
      [
        { with: "file://docs/", can: "crud/read" },
        { with: "file://docs/in/", can: "crud" },
      ],
      "read, write in parts, delete in parts",
    ],
  ])("%s", (_name, publicCaps, shown) => {
    const text = bannerOf({ publicCaps, roots: [{ name: "docs", kind: "host" as const, readOnly: false }] });
    expect(/anonymous callers: (.*)/.exec(text)?.[1]).toBe(shown);
  });

  test("a read-only root is only read", () => {
    const roots = [{ name: "docs", kind: "host" as const, readOnly: true }];
    expect(bannerOf({ publicCaps: [{ with: "file://", can: "crud" }], roots })).toContain("anonymous callers: read\n");
  });

  test("nothing where it has an owner, whatever is public", () => {
    const roots = [{ name: "docs", kind: "host" as const, readOnly: false, owner: "did:key:zOwner" }];
    const text = bannerOf({ publicCaps: [{ with: "file://", can: "crud" }], roots });
    expect(text).toContain("anonymous callers: nothing, it has an owner\n");
    expect(text).not.toContain("did:key:zOwner");
  });

  test("nothing where they are not served", () => {
    const text = bannerOf({ publicAccess: false, publicCaps: [] });
    expect(text.match(/anonymous callers: refused/g)).toHaveLength(3);
    expect(text).toContain("Nobody is served without a token; there is no local token, and no configured one.");
    expect(text).not.toContain("MCP");
  });
});

describe("the line to paste", () => {
  test.each<[string, Partial<BannerFacts>, string | undefined]>([
    ["writes into a temp root", {}, "write"],
    ["only looks at a host root, even a writable one", { publicCaps: [{ with: "file://docs/", can: "crud" }] }, "tree"],
    [
      "only looks at a temp root that is read-only",
      { roots: [{ name: "scratch", kind: "temp" as const, readOnly: true }] },
      "tree",
    ],
    [
      "asks for roots where only parts may be read",
      { publicCaps: [{ with: "file://docs/pub/", can: "crud/read" }] },
      "roots",
    ],
    ["asks for the status where nothing may be read", { publicCaps: [] }, undefined],
    [
      "asks for the status where every root has an owner",
      { roots: facts.roots.map((root) => ({ ...root, owner: "did:key:zOwner" })) },
      undefined,
    ],
    ["passes over a root with an owner", { roots: [{ ...scratch, owner: "did:key:zOwner" }, docs] }, "tree"],
    [
      "asks for the status where only parts of a root with an owner are named",
      {
        publicCaps: [{ with: "file://docs/pub/", can: "crud/read" }],
        roots: [{ ...docs, owner: "did:key:zOwner" }, scratch],
      },
      undefined,
    ],
    ["asks for the status where nobody is served", { publicCaps: [], publicAccess: false }, undefined],
  ])("%s", (_name, changes, operation) => {
    const line = curlOf(bannerOf(changes)) ?? "";
    expect(operationOf(line)).toBe(operation);
    if (operation === undefined) expect(line).toBe("curl -s http://localhost:8080/api/v1/status");
  });

  test("quotes what a shell would take apart", () => {
    expect(curlOf(bannerOf({ url: "http://[::1]:80" }))).toMatch(/^curl -s 'http:\/\/\[::1\]:80\/api\/v1\/invoke' /);
  });
});

describe("the MCP client configuration", () => {
  const configurationOf = (text: string): unknown => JSON.parse(/configuration\n([\s\S]*)$/.exec(text)?.[1] ?? "");

  test("is JSON under the name of the venue, whatever that is", () => {
    for (const name of ["venue-files", 'my "own"\nvenue']) {
      expect(configurationOf(bannerOf({ name }))).toEqual({
        mcpServers: { [name]: { type: "http", url: "http://localhost:8080/mcp" } },
      });
    }
  });

  test("is left out where MCP is switched off", () => {
    expect(bannerOf({ mcp: false })).not.toContain("MCP");
  });
});

describe("a local token", () => {
  const text = "t".repeat(43);
  const localToken = { file: "/state/local-token", text };

  test("stands in the line to paste and in the client configuration, and what it does is said", () => {
    const shown = bannerOf({ localToken, publicAccess: false, publicCaps: [] });
    expect(shown).toContain("The token below acts as the operator: everything in every root.");
    expect(curlOf(shown)).toMatch(/^curl -s \S+\/invoke -H 'Authorization: Bearer t{43}' -H 'Content-Type/);
    expect(shown).toContain(`"headers": {\n          "Authorization": "Bearer ${text}"`);
  });

  test("that is not to be shown is named by its file, from which the line reads it", () => {
    const kept = { file: "/my state/local-token" };
    const shown = bannerOf({ localToken: kept });
    expect(shown).toContain("The token in /my state/local-token acts as the operator: everything in every root.");
    expect(curlOf(shown)).toContain(`-H "Authorization: Bearer $(cat '/my state/local-token')" -H`);
    expect(shown).toContain('"mcpServers"');
    expect(shown).not.toContain('"headers"');
  });

  test("that is not to be shown, but needed, has a placeholder in the client configuration", () => {
    const kept = { file: "/state/local-token" };
    for (const publicAccess of [false, true]) {
      const shown = bannerOf({ localToken: kept, publicAccess, publicCaps: [] });
      expect(shown).toContain("\nMCP client configuration; TOKEN stands for that token\n");
      expect(shown).toContain('"Authorization": "Bearer TOKEN"');
    }
    expect(bannerOf({ publicAccess: false, publicCaps: [] })).not.toContain('"mcpServers"');
  });

  test("lets the line write where anonymous callers may not, but only into a temp root", () => {
    expect(operationOf(bannerOf({ localToken, publicCaps: [] }))).toBe("write");
    expect(operationOf(bannerOf({ localToken, publicCaps: [], roots: [docs] }))).toBe("tree");
  });

  test("writes into a temp root that has an owner too", () => {
    expect(operationOf(bannerOf({ localToken, roots: [{ ...scratch, owner: "did:key:zOwner" }] }))).toBe("write");
  });

  test("has others beside it, which are counted", () => {
    expect(bannerOf({ localToken, tokens: 2 })).toContain("Keep it to yourself; 2 configured tokens beside it.");
    expect(bannerOf({ tokens: 1 })).toContain("there is no local token, but 1 configured token.");
  });
});

test("on a socket the line goes there", () => {
  const text = bannerOf({ socket: "/run/my venue.sock", url: "http://localhost" });
  expect(text).toContain("listens on /run/my venue.sock\n");
  expect(curlOf(text)).toMatch(/^curl -s --unix-socket '\/run\/my venue\.sock' http:\/\/localhost\/api\/v1\/invoke /);
});
