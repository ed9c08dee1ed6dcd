#!/usr/bin/env node
// The bars of the workspace page, in Chromium: first paint, large folders, scrolling, large texts, differences, events, uploads,
// heap. Medians of 5, or of 1 with --quick.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { createVenue } from "venue-files";
import { runBench } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { inTurns, median, percentile, ratios, timed } from "./timing.mjs";
import { diff, events } from "./web/changes.mjs";

const run = promisify(execFile);
const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 5;
const UPLOAD_MB = quick ? 256 : 1024;
const SCROLL_MS = 5000;
const TOKEN = "token-of-the-benchmark-0123456789";
const FOLDERS = { ten: 10_000, hundred: 100_000, few: 50 };

const folder = temporaryDirectory();
const at = (path) => join(folder, "files", path);

function fill(name) {
  if (existsSync(at(name))) return;
  mkdirSync(at(name), { recursive: true });
  for (let index = 0; index < FOLDERS[name]; index++) {
    const text = name === "few" ? `${index}\n`.repeat(2000) : "";
    writeFileSync(at(`${name}/file-${String(index).padStart(6, "0")}.txt`), text);
  }
}

fill("few");
mkdirSync(join(folder, "kept"));
const line = (_, index) => `${String(index).padStart(8, "0")} ${"x".repeat(40)}\n`;
writeFileSync(at("large.txt"), Array.from({ length: 100_000 }, line).join(""));
writeFileSync(join(folder, "upload.bin"), Buffer.alloc(UPLOAD_MB * 1024 * 1024, 7));

const venue = await createVenue(
  {
    ...{ hostname: "127.0.0.1", port: 0, stateDir: "state", seed: "44".repeat(32), audit: { file: "audit.jsonl" } },
    auth: {
      public: { caps: [] },
      tokens: [{ name: "bench", token: { env: "TOKEN" }, caps: [{ with: "file://", can: "crud" }] }],
    },
    file: {
      limits: { maxUploadBytes: 4_294_967_296 },
      roots: {
        files: { path: "./files", journal: "off", durability: "none" },
        kept: { path: "./kept", durability: "none" },
      },
    },
  },
  { baseDir: folder, env: { TOKEN } },
);
await venue.listen();
const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };

/** Calls an operation, as a program would. */
async function call(operation, input) {
  const body = JSON.stringify({ operation, input });
  const response = await fetch(`${venue.url}/api/v1/run`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(await response.text());
}

/** Milliseconds that calls take one after the other in the same browser, without the page: as noisy as what is beside them. */
const timeCalls = (page, inputs) =>
  page.evaluate(`(async () => {
    const began = performance.now();
    for (const input of ${JSON.stringify(inputs)}) {
      const body = JSON.stringify({ operation: "file:list", input: { root: "files", ...input } });
      await (await fetch("/api/v1/run", { method: "POST", headers: ${JSON.stringify(headers)}, body })).json();
    }
    return performance.now() - began;
  })()`);

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-precise-memory-info", "--js-flags=--expose-gc"],
});

/** A page of a fresh profile: nothing is cached. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const isPage = "location.pathname.startsWith('/workspace/') && self.origin !== 'null'";
  await context.addInitScript({
    content: `if (${isPage}) sessionStorage.setItem("venue-files:/workspace/", "${TOKEN}")`,
  });
  return context.newPage();
}
const visit = (page, path) => page.goto(`${venue.url}/workspace/${path}`, { waitUntil: "commit" });
/** Milliseconds since the navigation began at which a selector is there, as the page sees it. */
const whenShown = (page, condition) =>
  page.evaluate(
    `new Promise((resolve) => { const look = () => (${condition}) ? resolve(performance.now()) : requestAnimationFrame(look); look(); })`,
  );
const repeat = async (measure) => {
  const found = await inTurns(ROUNDS, {
    async page() {
      const page = await open();
      const value = await measure(page);
      await page.context().close();
      return value;
    },
  });
  return median(found.page);
};
const heapMb = async (page) => {
  await page.evaluate("gc()");
  return (await page.evaluate("performance.memory.usedJSHeapSize")) / 1e6;
};

async function paint({ report }) {
  const shown = await repeat(async (page) => {
    await visit(page, "files");
    return whenShown(page, "document.querySelector('.card')");
  });
  const first = await repeat(async (page) => {
    await visit(page, "files");
    await whenShown(page, "performance.getEntriesByName('first-contentful-paint').length > 0");
    return page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
  });
  report("first contentful paint, cold cache", first, 300);
  report("signed in, roots shown", shown, 600);
}

/** Goes to a place of the page without loading it. @returns milliseconds until the condition holds */
async function goTo(page, path, condition) {
  const began = await page.evaluate("performance.now()");
  await page.evaluate(
    `history.pushState(null, "", "/workspace/${path}"); dispatchEvent(new PopStateEvent("popstate"))`,
  );
  return (await whenShown(page, condition)) - began;
}

async function folders({ report }) {
  fill("ten");
  fill("hundred");
  /** What a folder takes in the page, and its calls alone, in turns. */
  const beside = (name, condition, inputs, compare) =>
    repeat(async (page) => {
      await visit(page, "files");
      await whenShown(page, "document.querySelector('.card')");
      const before = await timeCalls(page, inputs);
      const shown = await goTo(page, `files/files/${name}/`, condition);
      return compare(shown, (before + (await timeCalls(page, inputs))) / 2);
    });
  report(
    "folder of 10,000: rows, beyond the time of the calls",
    await beside(
      "ten",
      "document.querySelector('.list-footer')?.textContent === '10,000 entries'",
      [
        { path: "ten", limit: 1000 },
        { path: "ten", offset: 1000, limit: 10_000 },
      ],
      (shown, calls) => shown - calls,
    ),
    150,
  );
  report(
    "folder of 100,000: first rows, beside file:list of 1,000",
    await beside(
      "hundred",
      "document.querySelector('.entry:not(.header)')",
      [{ path: "hundred", limit: 1000 }],
      (shown, calls) => shown / calls,
    ),
    1.2,
    "x",
  );
}

async function scroll({ report }) {
  fill("hundred");
  const page = await open();
  await visit(page, "files/files/hundred/");
  await whenShown(page, "document.querySelector('.list-footer')?.textContent === '100,000 entries'");
  const { frames, blank, most } = await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".entries");
    const frames = []; let blank = 0, most = 0, last = performance.now(); const end = last + ${SCROLL_MS};
    const step = (now) => {
      frames.push(now - last); last = now;
      list.scrollTop += 700;
      const rows = list.querySelectorAll(".entry:not(.header)");
      most = Math.max(most, rows.length);
      const box = list.getBoundingClientRect();
      if (document.elementFromPoint(box.left + 60, box.top + box.height / 2)?.closest(".entry") === null) blank += 1;
      if (now < end) requestAnimationFrame(step); else resolve({ frames: frames.slice(1), blank, most });
    };
    requestAnimationFrame(step);
  })`);
  report("100,000 rows, 5 s of scrolling: p95 frame", percentile(frames, 95), 20);
  report("the same: frames with a blank row", blank, 0, "frames");
  report("the same: row nodes", most, 100, "nodes");
  report("heap with 100,000 rows", await heapMb(page), 40, "MB");
  await page.context().close();
}

async function text({ report }) {
  const first = await repeat(async (page) => {
    await visit(page, "files/files/large.txt");
    return whenShown(page, "document.querySelector('.cm-line')");
  });
  report("text of 5 MB: first line", first, 1000);
  const page = await open();
  await visit(page, "files/files/large.txt?line=50000");
  await whenShown(page, "document.querySelector('.cm-activeLine')?.textContent.startsWith('00049999')");
  await page.locator(".cm-content").focus();
  const keys = [];
  for (let index = 0; index < 40; index += 1) {
    await page.evaluate(
      `(() => { self.done = new Promise((resolve) => addEventListener("keydown", () => { const began = performance.now(); requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began))); }, { once: true, capture: true })); })()`,
    );
    await page.keyboard.press("k");
    keys.push(await page.evaluate("self.done"));
  }
  report("the same: a key in its middle, p95", percentile(keys, 95), 50);
  await page.context().close();
}

/** One after the other in each round, and nothing of one is left when the other begins: both find the disk and the memory alike. */
async function upload({ report }) {
  const file = join(folder, "upload.bin");
  const target = `${venue.url}/api/v1/files/files/curl.bin`;
  const byCurl = () => run("curl", ["-sS", "-T", file, "-H", `Authorization: Bearer ${TOKEN}`, target]);
  const page = await open();
  const heaps = [];
  const curl = async () => {
    const took = await timed(byCurl);
    rmSync(at("curl.bin"));
    return took;
  };
  const byPage = async () => {
    await visit(page, "files/files/few/");
    await whenShown(page, "document.querySelector('input[type=file]') && document.querySelector('.entry')");
    const before = await heapMb(page);
    const took = await timed(async () => {
      await page.locator("input[type=file]").first().setInputFiles(file);
      await whenShown(page, "document.querySelector('.upload-tray')?.textContent.includes('1 of 1 uploaded')");
    });
    heaps.push((await heapMb(page)) - before);
    rmSync(at("few/upload.bin"));
    return took;
  };
  const found = await inTurns(ROUNDS, { byPage, curl });
  report(`upload of ${UPLOAD_MB} MB, beside curl -T`, median(ratios(found.byPage, found.curl)), 1.3, "x");
  report("the same: heap beyond", Math.max(...heaps), 20, "MB");
  await page.context().close();
}

async function heap({ report }) {
  const page = await open();
  await visit(page, "files");
  await whenShown(page, "document.querySelector('.card')");
  report("heap: roots", await heapMb(page), 15, "MB");
  for (let index = 0; index < 50; index += 1) {
    const path = `files/files/few/file-${String(index).padStart(6, "0")}.txt`;
    await goTo(page, path, `document.querySelector('.cm-line')?.textContent === '${index}'`);
  }
  report("heap: after 50 files", await heapMb(page), 30, "MB");
  await page.context().close();
}

const parts = { paint, folders, scroll, text, diff, events, upload, heap };
await runBench(
  Object.entries(parts).map(([name, measure]) => ({
    name,
    async run({ row }) {
      const report = (what, value, most, unit = "ms") => row({ what, value, unit, most });
      await measure({ call, headers, open, visit, whenShown, goTo, repeat, report, quick });
    },
  })),
  {
    async finish() {
      await browser.close();
      await venue.close();
    },
  },
);
