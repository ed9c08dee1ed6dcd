#!/usr/bin/env node
// Ten jobs of a coding agent on a repository, by the tools of each server: calls, bytes and tokens. Nothing is timed.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { connectRaw, SERVERS } from "./clients.mjs";
import { expectThat, textOf } from "./expect.mjs";
import { makeText } from "./fixture.mjs";
import { runBench, shown, table } from "./harness.mjs";
import { filesOf, temporaryDirectory } from "./lifetime.mjs";
import { CLI } from "./processes.mjs";

/** What an agent that knows the repository leaves out of its overview and searches. */
const LEFT_OUT = ["node_modules", ".git", "dist", "coverage"];
const MAX_THEIRS = 1 / 3;

const AREAS = ["api", "auth", "billing", "cart", "catalog", "common", "email", "orders", "search", "users"];
const LAYERS = ["controllers", "models", "services", "views"];
const NAMES = ["create", "delete", "find", "index", "list", "types", "update", "validate"];
const LONG = "src/orders/services/process.ts";
const LOG = "logs/server.log";

/** A repository of some 1,000 files that Git has, and 3,000 that it ignores. */
function makeRepository() {
  const files = {
    ".gitignore": "node_modules/\ndist/\ncoverage/\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ...filesOf(300, (index) => `.git/objects/${index % 100}/${index}abcdef`, "x"),
    ...filesOf(2000, (index) => `node_modules/package-${index % 200}/lib/file-${index}.js`, "x"),
    ...filesOf(700, (index) => `dist/chunk-${index}.js`, "x"),
    [LOG]: Array.from({ length: 5000 }, (_, index) => `2026-01-01T00:00:00Z GET /orders/${index} 200 12ms\n`).join(""),
    "src/cart/services/grep-me.ts": "export const needle = legacyDiscount(1);\n",
  };
  for (const name of ["README.md", "package.json", "tsconfig.json", "CHANGELOG.md"]) files[name] = makeText(3000, 1);
  let seed = 0;
  for (const area of AREAS) {
    for (const layer of LAYERS) {
      for (const name of NAMES) {
        files[`src/${area}/${layer}/${name}.ts`] = makeText(2500, seed++);
        files[`test/${area}/${layer}/${name}.${layer === "models" ? "test" : "spec"}.ts`] = makeText(1500, seed++);
        if (layer === "views") files[`docs/${area}/${name}.md`] = makeText(2000, seed++);
      }
    }
  }
  const lines = Array.from(
    { length: 1200 },
    (_, index) => `  const step${index + 1} = await run(${index + 1}); // ${"=".repeat(20)}`,
  );
  lines[699] = "  return legacyTotal(order);";
  return temporaryDirectory({ ...files, [LONG]: `${lines.join("\n")}\n` });
}

const THREE = [100, 500, 1100].map((number) => ({
  oldText: `const step${number} = await run(${number});`,
  newText: `const step${number} = await runOnce(${number});`,
}));

/** @returns the jobs; each side a list of calls, and `isDone` what shows that the job is done */
function jobsIn(root, texts) {
  const at = (path) => join(root, path);
  const text = (path) => readFileSync(at(path), "utf8");
  const all = () => texts.at(-1) ?? "";
  const one = { oldText: "return legacyTotal(order);", newText: "return total(order);" };
  return [
    {
      ...{ name: "overview", isDone: () => ["src", "test", "docs", "orders"].every((name) => all().includes(name)) },
      ours: [["file_tree", {}]],
      theirs: [["directory_tree", { path: root, excludePatterns: LEFT_OUT }]],
    },
    {
      ...{ name: "find files by name", isDone: () => all().match(/\.test\.ts/g)?.length === 80 },
      ours: [["file_glob", { pattern: ["**/*.test.ts"] }]],
      theirs: [["search_files", { path: root, pattern: "**/*.test.ts", excludePatterns: LEFT_OUT }]],
    },
    {
      ...{ name: "find text", isDone: () => all().includes("legacyDiscount") },
      ours: [["file_grep", { pattern: "legacyDiscount", path: "src/cart" }]],
      // It does not look into files: an agent reads them.
      theirs: [
        ["search_files", { path: at("src/cart"), pattern: "**/*.ts" }],
        (found) => ["read_multiple_files", { paths: found.trim().split("\n") }],
      ],
    },
    {
      ...{ name: "read 40 lines", isDone: () => all().includes("step720 ") && all().includes("step681 ") },
      ours: [["file_read", { path: LONG, line: 681, limit: 40 }]],
      theirs: [["read_text_file", { path: at(LONG), head: 720 }]],
    },
    {
      ...{ name: "edit one line", isDone: () => text(LONG).includes(one.newText) },
      ours: [["file_edit", { path: LONG, ...one }]],
      theirs: [["edit_file", { path: at(LONG), edits: [one] }]],
    },
    {
      ...{ name: "edit three places", isDone: () => THREE.every(({ newText }) => text(LONG).includes(newText)) },
      ours: [["file_edit", { path: LONG, edits: THREE }]],
      theirs: [["edit_file", { path: at(LONG), edits: THREE }]],
    },
    {
      name: "move into a new folder",
      isDone: () => existsSync(at("src/shared/mail/create.ts")) && !existsSync(at("src/email/models/create.ts")),
      ours: [["file_move", { path: "src/email/models/create.ts", to: "src/shared/mail/create.ts", parents: true }]],
      theirs: [
        ["create_directory", { path: at("src/shared/mail") }],
        ["move_file", { source: at("src/email/models/create.ts"), destination: at("src/shared/mail/create.ts") }],
      ],
    },
    {
      ...{ name: "delete a file", isDone: () => !existsSync(at("src/users/models/types.ts")) },
      ours: [["file_delete", { path: "src/users/models/types.ts" }]],
      // Not possible: an agent moves the file out of the way.
      theirs: [
        ["create_directory", { path: at(".trash") }],
        ["move_file", { source: at("src/users/models/types.ts"), destination: at(".trash/types.ts") }],
      ],
    },
    {
      name: "new file in a new folder",
      isDone: () => text("src/reports/daily/index.ts") === "export const daily = true;\n",
      ours: [
        ["file_write", { path: "src/reports/daily/index.ts", content: "export const daily = true;\n", parents: true }],
      ],
      theirs: [
        ["create_directory", { path: at("src/reports/daily") }],
        ["write_file", { path: at("src/reports/daily/index.ts"), content: "export const daily = true;\n" }],
      ],
    },
    {
      ...{ name: "last lines", isDone: () => all().includes("/orders/4999 ") && all().includes("/orders/4991 ") },
      ours: [["file_read", { path: LOG, tail: 10 }]],
      theirs: [["read_text_file", { path: at(LOG), tail: 10 }]],
    },
  ];
}

/** Does the jobs of one side. @returns for each the calls, bytes both ways, and tokens of arguments and content */
async function doJobs(side) {
  const root = makeRepository();
  const client = await connectRaw(side === "ours" ? [CLI, "mcp", "--root", `shop=${root}`] : SERVERS.theirs({ root }));
  const results = [];
  try {
    for (const [index, { name }] of jobsIn(root, []).entries()) {
      const texts = [];
      const job = jobsIn(root, texts)[index];
      const sum = { name, calls: 0, bytes: 0, tokens: 0 };
      for (const step of job[side]) {
        const [tool, args] = typeof step === "function" ? step(texts.at(-1)) : step;
        const result = await client.tool(tool, args);
        textOf(result, `${side}, ${name}`);
        const content = result.content.map((block) => block.text ?? "").join("\n");
        texts.push(content);
        sum.calls++;
        sum.bytes += Buffer.byteLength(JSON.stringify(args)) + client.lastAnswerBytes();
        sum.tokens += encode(tool).length + encode(JSON.stringify(args)).length + encode(content).length;
      }
      expectThat(job.isDone(), `${side}: the job is not done: ${name}`);
      results.push(sum);
    }
  } finally {
    await client.close();
  }
  return results;
}

const FIELDS = ["calls", "bytes", "tokens"];
const cells = (one) => FIELDS.map((field) => shown(one[field]));

async function measureJobs({ row }) {
  const [ours, theirs] = [await doJobs("ours"), await doJobs("theirs")];
  const total = (results) => {
    const counted = results.filter(({ name }) => name !== "find text");
    return Object.fromEntries(FIELDS.map((field) => [field, counted.reduce((sum, one) => sum + one[field], 0)]));
  };
  const [a, b] = [total(ours), total(theirs)];
  const lines = [
    ["job", "venue-files: calls", "bytes", "tokens", "server-filesystem: calls", "bytes", "tokens"],
    ...ours.map((one, index) => [one.name, ...cells(one), ...cells(theirs[index])]),
    ["all but _find text_", ...cells(a), ...cells(b)],
  ];
  process.stdout.write(`${table(lines)}\n`);
  row({ what: "tokens, of those of server-filesystem", value: a.tokens / b.tokens, unit: "x", most: MAX_THEIRS });
}

await runBench([{ name: "jobs", run: measureJobs }]);
