import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { ERROR_CODES } from "../../src/core/errors/errors.js";
import { OPERATIONS } from "../../src/ops/registry.js";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("docs", () => {
  test("the error list has exactly the codes of the table, with the right word on retrying", () => {
    const listed = [...read("docs/errors.md").matchAll(/^\| `([A-Z_]+)` \|.*\| (yes|no) \|$/gm)];
    expect(Object.fromEntries(listed.map(([, code, retry]) => [code, retry === "yes"]))).toEqual(
      Object.fromEntries(Object.entries(ERROR_CODES).map(([code, { retry }]) => [code, retry])),
    );
  });

  test("the operations page has a heading for each operation, in their order", () => {
    const headings = [...read("docs/operations.md").matchAll(/^## file:(\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(OPERATIONS.map(({ name }) => name));
  });

  test.each(OPERATIONS.map(({ name }) => [name]))("the operations page names every field of file:%s", (name) => {
    const { input, output } = JSON.parse(read(`schemas/file/${name}.json`));
    const section =
      read("docs/operations.md")
        .split(/^## /m)
        .find((part) => part.startsWith(`file:${name}\n`)) ?? "";
    for (const field of [...Object.keys(input.properties), ...Object.keys(output.properties)]) {
      expect(section).toMatch(new RegExp(`\\b${field}\\b`));
    }
  });

  test("the configuration reference is what the schema says", async () => {
    const script = new URL("../../scripts/generate-docs.mjs", import.meta.url).href;
    const { generateConfigurationReference } = (await import(script)) as {
      generateConfigurationReference: () => string;
    };
    expect(read("docs/configuration.md")).toBe(generateConfigurationReference());
  });

  test("the page of the HTTP API names every endpoint there is", () => {
    const folder = "src/surfaces/http/endpoints";
    const tables = readdirSync(new URL(`../../${folder}`, import.meta.url)).map((file) => read(`${folder}/${file}`));
    // `GET /api/v1/jobs/{id}/sse` is named by what stands before its parameter, and so are those of values.
    const routes = [...tables.join("\n").matchAll(/["`](?:GET|POST|PUT|PATCH|DELETE) (\/[\w./-]+?)\/?["`{$]/g)].map(
      ([, path]) => path ?? "",
    );
    const page = read("docs/http.md");
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter((path) => !page.includes(path))).toEqual([]);
  });

  test("every run-time dependency has a decision note", () => {
    const notes = readdirSync(new URL("../../docs/decisions", import.meta.url)).map((file) =>
      read(`docs/decisions/${file}`),
    );
    const { dependencies } = JSON.parse(read("package.json"));
    for (const name of Object.keys(dependencies)) {
      expect(notes.some((note) => note.includes(`Dependency: ${name}\n`))).toBe(true);
    }
  });

  test("a decision has one number, and one that is withdrawn has no note", () => {
    const numbers = readdirSync(new URL("../../docs/decisions", import.meta.url)).flatMap((file) =>
      file === "README.md" ? [] : [Number(file.slice(0, 4))],
    );
    const withdrawn = [...read("docs/decisions/README.md").matchAll(/^\| (\d+) \|/gm)].map(([, number]) =>
      Number(number),
    );
    expect(withdrawn.length).toBeGreaterThan(0);
    expect(new Set([...numbers, ...withdrawn]).size).toBe(numbers.length + withdrawn.length);
  });

  test("benches import only modules that there are", () => {
    const programs = readdirSync(new URL("../../bench", import.meta.url), { recursive: true, encoding: "utf8" });
    const text = programs.filter((file) => file.endsWith(".mjs")).map((file) => read(`bench/${file}`));
    const modules = [...text.join("\n").matchAll(/"(?:\.\.\/)+dist\/([^"]+)\.js"/g)].map(([, path]) => `${path}.ts`);
    expect(modules.length).toBeGreaterThan(10);
    expect(modules.filter((path) => !existsSync(new URL(`../../src/${path}`, import.meta.url)))).toEqual([]);
  });

  test("decision notes keep to forty lines, the README to 110 and ARCHITECTURE.md to 130", () => {
    for (const file of readdirSync(new URL("../../docs/decisions", import.meta.url))) {
      expect(read(`docs/decisions/${file}`).split("\n").length).toBeLessThanOrEqual(41);
    }
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(111);
    expect(read("ARCHITECTURE.md").split("\n").length).toBeLessThanOrEqual(131);
  });

  test("the README starts the program for each client in the one way that works today", async () => {
    const script = new URL("../../scripts/client-snippets.mjs", import.meta.url).href;
    const { LAUNCH, SNIPPETS, withSnippets } = (await import(script)) as {
      LAUNCH: readonly string[];
      SNIPPETS: readonly (readonly [string, string, string])[];
      withSnippets(readme: string): string;
    };
    expect(read("README.md")).toBe(withSnippets(read("README.md")));
    const clients = [
      "Claude Code",
      "Claude Desktop",
      "Cursor",
      "VS Code",
      "Codex",
      "Zed",
      "Gemini CLI",
      "Goose",
      "opencode",
    ];
    for (const client of clients) expect(SNIPPETS.some(([title]) => title.includes(client))).toBe(true);
    for (const [, language, text] of SNIPPETS) {
      for (const part of LAUNCH) expect(text).toContain(part);
      expect(text).toContain("/path/to/project");
      if (language === "json") expect(Object.values(JSON.parse(text))).toEqual([{ files: expect.any(Object) }]);
    }
    // There is no release yet: whoever takes the name on npm would be run.
    const pages = [
      "README.md",
      ...readdirSync(new URL("../../docs", import.meta.url), { encoding: "utf8" }).map((file) => `docs/${file}`),
    ];
    for (const page of pages.filter((file) => file.endsWith(".md")))
      expect(read(page)).not.toMatch(/npx (-y )?venue-files/);
  });

  const pages = readdirSync(new URL("../../docs", import.meta.url)).filter((file) => file.endsWith(".md"));

  test.each(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", ...pages.map((file) => `docs/${file}`)])(
    "%s links only to files and headings that exist",
    (file) => {
      const links = [...read(file).matchAll(/\]\(([^):]+)\)/g)].map(([, link]) => String(link));
      const missing = links.filter((link) => {
        const [path = "", heading] = link.split("#");
        const url =
          path === ""
            ? new URL(`../../${file}`, import.meta.url)
            : new URL(path, new URL(`../../${file}`, import.meta.url));
        return !existsSync(url) || (heading !== undefined && !headingsOf(url).includes(heading));
      });
      expect(missing).toEqual([]);
    },
  );
});

test.each(["ARCHITECTURE.md", "docs/design.md"])("%s names only sources that exist", (file) => {
  const named = [...read(file).matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(([, path]) => String(path));
  expect(named.length).toBeGreaterThan(5);
  const missing = named.filter(
    (path) => !existsSync(new URL(path.startsWith("web/") ? `../../${path}` : `../../src/${path}`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});

/** Anchors of the headings of a page, as GitHub makes them. */
function headingsOf(url: URL): string[] {
  const headings = [...readFileSync(url, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, text]) => String(text));
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("each row of Jettson's tables names tests that there are", () => {
  const folder = "test/profiles/jettson";
  const tests = readdirSync(new URL(`../../${folder}`, import.meta.url)).map((file) => read(`${folder}/${file}`));
  const all = tests.join("\n");
  const rows = read("docs/profile-jettson.md")
    .split("\n")
    .filter((line) => /^\|.*\|.*\|.*\|$/.test(line));
  const cells = rows.map((row) => row.split("|").at(-2)?.trim() ?? "").filter((cell) => /"/.test(cell));
  expect(cells.length).toBeGreaterThan(25);
  const named = cells.flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ""));
  const isThere = (name: string) =>
    all.includes(name.replace(/^200 of/, " of")) || new RegExp(name.replace("…", ".+")).test(all);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
