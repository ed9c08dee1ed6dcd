// Makes the pictures of the workspace page in docs/pictures, from a venue with an agent at work. Needs a build and Chromium.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { createVenue } from "../dist/index.js";

const PICTURES = fileURLToPath(new URL("../docs/pictures/", import.meta.url));
const LARGEST_BYTES = 150_000;
const TOKEN = "token-of-the-screenshots-0123456789";

const CART = `import type { Item } from "./items.js";

/** What a cart costs, in cents. */
export function total(items: readonly Item[]): number {
  return items.reduce((sum, { price, count }) => sum + price * count, 0);
}

/** Taxes are rounded for each line, as the law says. */
export function taxes(items: readonly Item[], rate: number): number {
  return items.reduce((sum, { price, count }) => sum + Math.round(price * count * rate), 0);
}
`;
const FILES = {
  "README.md":
    "# Shop\n\nA small shop. Prices are cents, **never** floats.\n\n- [the cart](src/cart.ts) adds up\n- [the guide](docs/guide.md) says how\n\n| item | price |\n|---|---:|\n| book | 12.00 |\n| pen | 1.50 |\n\n```ts\ntotal([{ price: 1200, count: 2 }]); // 2400\n```\n",
  "package.json": '{\n  "name": "shop",\n  "type": "module"\n}\n',
  "src/cart.ts": CART,
  "src/items.ts":
    "export interface Item {\n  readonly name: string;\n  readonly price: number;\n  readonly count: number;\n}\n",
  "src/pay/card.ts": "// TODO: retry once\nexport const pay = () => {};\n",
  "docs/guide.md": "# Guide\n\nHow to sell things.\n",
  "docs/prices.csv": "name,price\nbook,1200\npen,150\n",
};

const folder = mkdtempSync(join(tmpdir(), "venue-files-pictures-"));
for (const [path, content] of Object.entries(FILES)) {
  mkdirSync(join(folder, "shop", dirname(path)), { recursive: true });
  writeFileSync(join(folder, "shop", path), content);
}
const venue = await createVenue(
  {
    ...{
      name: "studio",
      hostname: "127.0.0.1",
      port: 0,
      stateDir: "state",
      seed: "33".repeat(32),
      audit: { file: "audit.jsonl" },
    },
    auth: {
      public: { caps: [] },
      tokens: [{ name: "anna", token: { env: "TOKEN" }, caps: [{ with: "file://", can: "crud" }] }],
    },
    file: { roots: { shop: { path: "./shop", description: "The shop that agents work on" }, scratch: { temp: true } } },
  },
  { baseDir: folder, env: { TOKEN } },
);
await venue.listen();

async function call(operation, input, token = TOKEN) {
  const response = await fetch(`${venue.url}/api/v1/run`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ operation, input }),
  });
  return response.json();
}

const give = (label, caps, more = {}) => call("auth:issue", { label, caps, ...more });
const { token: bot } = await give("coding agent", [{ with: "file://shop/src/", can: "crud" }]);
await give(
  "docs writer",
  [
    { with: "file://shop/docs/", can: "crud/write" },
    { with: "file://shop/", can: "crud/read" },
  ],
  { lifetimeSeconds: 86_400 },
);
const edit = (path, edits) => call("file:edit", { root: "shop", path, edits }, bot);
await edit("src/cart.ts", [
  {
    oldText: "  return items.reduce((sum, { price, count }) => sum + price * count, 0);",
    newText:
      "  const sum = (all: number, { price, count }: Item) => all + price * count;\n  return items.reduce(sum, 0);",
  },
  { oldText: "as the law says", newText: "as the law requires" },
]);
await edit("src/pay/card.ts", [
  {
    oldText: "// TODO: retry once\nexport const pay = () => {};",
    newText: "/** Pays, and tries again once. */\nexport const pay = () => {};",
  },
]);
await call(
  "file:write",
  { root: "shop", path: "src/discounts.ts", content: "/** In percent. */\nexport const discount = 10;\n" },
  bot,
);

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1160, height: 700 }, colorScheme: "light" });
const isPage = "location.pathname.startsWith('/workspace/') && self.origin !== 'null'";
await context.addInitScript({
  content: `if (${isPage}) sessionStorage.setItem("venue-files:/workspace/", "${TOKEN}")`,
});
mkdirSync(PICTURES, { recursive: true });

/** @param ready selector of what must be there */
async function take(name, path, ready) {
  const page = await context.newPage();
  await page.goto(`${venue.url}/workspace/${path}`);
  await page.locator(ready).first().waitFor();
  // Fonts and the first paint of the editor.
  await page.waitForTimeout(800);
  await page.screenshot({ path: `${PICTURES}${name}.png` });
  const { size } = statSync(`${PICTURES}${name}.png`);
  console.log(`${name}.png ${size} bytes`);
  if (size > LARGEST_BYTES) throw new Error(`${name}.png is larger than ${LARGEST_BYTES} bytes`);
  await page.close();
}

try {
  await take("files", "files/shop/README.md", ".cm-line");
  await take("changes", "changes/shop/", ".cm-changedLine");
  await take("access", "access", "tbody tr");
} finally {
  await browser.close();
  await venue.close();
  rmSync(folder, { recursive: true, force: true });
}
