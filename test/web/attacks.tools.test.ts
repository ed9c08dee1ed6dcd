// Files that attack whoever looks at them, and pages that attack the page. Each attack would set `self.pwned`.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { call, editor, entry, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

const PWN = "(self.pwned=1,top.pwned=1)";
let stage: Stage;
let other: Server;

/** Ways around sanitisers of markdown and HTML. */
const BYPASSES = [
  `<script>${PWN}</script>`,
  `<img src=x onerror="${PWN}">`,
  `<svg><script>${PWN}</script></svg>`,
  `<svg/onload="${PWN}">`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${PWN}&gt;">`,
  `<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id="</textarea><img onerror=${PWN} src=1>">`,
  `<noscript><p title="</noscript><img src=x onerror=${PWN}>">`,
  `<iframe srcdoc="<script>${PWN}</script>"></iframe>`,
  `<object data="data:text/html,<script>${PWN}</script>"></object>`,
  `<embed src="javascript:${PWN}">`,
  `<a href="javascript:${PWN}">click me</a>`,
  `[click me too](javascript:${PWN})`,
  `[and me](JaVaScRiPt&colon;${PWN})`,
  `<a href="data:text/html,<script>${PWN}</script>">data</a>`,
  `<a href="//evil.example/x" target="_top">out</a>`,
  `<base href="https://evil.example/">`,
  `<meta http-equiv="refresh" content="0;url=https://evil.example/">`,
  `<link rel="stylesheet" href="https://evil.example/x.css">`,
  `<style>@import "https://evil.example/x.css"; *{display:none}</style>`,
  `<div style="position:fixed;inset:0;background:url(https://evil.example/)">over</div>`,
  `<form action="https://evil.example/"><button>send</button></form>`,
  `<img src="https://evil.example/track.png">`,
  `![remote](https://evil.example/track2.png)`,
  `<img name="content" id="content"><a id="querySelector">clobber</a>`,
  `<video src="https://evil.example/v" autoplay onerror="${PWN}"></video>`,
  `<template><script>${PWN}</script></template><xss-element onclick="${PWN}">x</xss-element>`,
  `<select><template><img src=x onerror=${PWN}></template></select>`,
  `<![CDATA[><img src=x onerror=${PWN}>]]>`,
  `<x contenteditable autofocus onfocus="${PWN}">`,
];

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" onload="${PWN}"><script>${PWN}</script><image href="https://evil.example/i.png"/></svg>`;
const HTML = `<!doctype html><script>${PWN}</script><img src=x onerror="${PWN}"><p>shown</p>`;

inBrowser("hostile content", () => {
  beforeAll(async () => {
    stage = await openStage({
      ...Object.fromEntries(BYPASSES.map((text, index) => [`bypass-${index}.md`, `begin\n\n${text}\n\nend`])),
      "page.html": HTML,
      "image.svg": SVG,
      "image.png": HTML,
      "paper.pdf": `%PDF-1.4\n/OpenAction << /S /JavaScript /JS (${PWN}) >>`,
      "code.js": `${PWN}`,
      "\u202egpj.exe": "x",
      "a\u200bb.txt": "x",
      "<img src=x onerror=alert(1)>.txt": "x",
      ["__proto__"]: "x",
      constructor: "x",
      "bidi.txt": "if (admin\u202e \u2066// check\u2069 \u2066) {\n",
    });
    other = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<p>elsewhere</p>");
    }).listen(0, "127.0.0.1");
  });
  afterAll(async () => {
    await stage.close();
    other.close();
  });

  /** Requests to anywhere but the venue. */
  const watch = (page: Page): string[] => {
    const out: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(stage.venue.url) && !/^(?:blob|data|about):/.test(request.url()))
        out.push(request.url());
    });
    return out;
  };
  const isPwned = async (page: Page): Promise<boolean> => {
    const found = await Promise.all(
      page.frames().map((frame) => frame.evaluate("self.pwned === 1").catch(() => false)),
    );
    return found.includes(true);
  };
  afterEach(() => {
    // The policies say what they stopped; nothing else went wrong.
    const others = stage.problems
      .splice(0)
      .filter((text) => !/Content Security Policy|sandboxed|violates|This document requires/i.test(text));
    expect(others).toEqual([]);
  });

  test("markdown and HTML run nothing, load nothing and lead nowhere", async () => {
    const page = await stage.visit("files/");
    const out = watch(page);
    for (const path of [...BYPASSES.map((_, index) => `bypass-${index}.md`), "page.html"]) {
      await page.goto(`${stage.venue.url}/workspace/files/files/${path}?view=preview`);
      const frame = page.frameLocator("iframe.preview");
      await frame.getByText(path === "page.html" ? "shown" : "begin").waitFor();
      for (const link of await frame.locator("a").all())
        await link.click({ timeout: 1000, force: true }).catch(() => {});
      const kept = ["script", "iframe", "object", "embed", "form", "link", "base", "meta", "style"].map(
        (tag) => `main ${tag}`,
      );
      expect([path, await frame.locator(kept.join(", ")).count()]).toEqual([path, 0]);
      expect([path, await isPwned(page), out]).toEqual([path, false, []]);
      expect(page.url()).toContain("/workspace/files/");
      expect(page.context().pages()).toHaveLength(1);
    }
    await page.context().close();
  });

  test("the frame has an opaque origin: no storage, no parent, no network", async () => {
    const page = await stage.visit("files/files/bypass-0.md?view=preview");
    await page.frameLocator("iframe.preview").getByText("begin").waitFor();
    const frame = page.frames().find((one) => one.url().endsWith("/preview"));
    const tried = await frame?.evaluate(`(async () => [
      self.origin,
      await fetch("/api/v1/status").then(() => "fetched", () => "refused"),
      (() => { try { return parent.document.title } catch { return "refused" } })(),
      (() => { try { return String(sessionStorage.length) } catch { return "refused" } })(),
      (() => { try { document.body.innerHTML = "<b>"; return "written" } catch { return "refused" } })(),
      (() => { try { trustedTypes.createPolicy("other", {}); return "made" } catch { return "refused" } })(),
      (() => { const s = document.createElement("script"); try { s.textContent = "self.late = 1"; document.head.append(s) } catch {} return self.late === 1 ? "ran" : "refused" })(),
    ])()`);
    expect(tried).toEqual(["null", "refused", "refused", "refused", "refused", "refused", "refused"]);
    await page.context().close();
  });

  test.each([
    ["image.svg", ".image img"],
    ["image.png", ".image img"],
    ["paper.pdf", ".hex pre"],
    ["code.js", ".cm-line"],
  ])("%s runs nothing", async (path, shown) => {
    const page = await stage.visit("files/");
    const out = watch(page);
    await page.goto(`${stage.venue.url}/workspace/files/files/${path}`);
    await page.locator(shown).first().waitFor({ state: "attached" });
    // What an image would run, it would run before it counts as decoded, or as broken.
    await page.evaluate("Promise.allSettled([...document.images].map((image) => image.decode()))");
    expect([await isPwned(page), out]).toEqual([false, []]);
    await page.context().close();
  });

  test("names hide nothing and are no markup", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "\\u{202e}gpj.exe").waitFor();
    await entry(page, "a\\u{200b}b.txt").waitFor();
    await entry(page, "<img src=x onerror=alert(1)>.txt").waitFor();
    for (const name of ["__proto__", "constructor"]) {
      await entry(page, name).getByRole("link").click();
      await editor(page).getByText("x").waitFor();
      await page.goBack();
      await entry(page, name).waitFor();
    }
    expect(await page.evaluate("({}).polluted === undefined && !('x' in {})")).toBe(true);
    await page.goto(`${stage.venue.url}/workspace/files/files/bidi.txt`);
    await editor(page).locator(".cm-specialChar").first().waitFor();
    expect(await editor(page).locator(".cm-specialChar").count()).toBe(4);
    await page.context().close();
  });

  test("a failure repeats no markup of a name", async () => {
    const page = await stage.visit(`files/files/${encodeURIComponent("<img src=x onerror=top.pwned=1>")}.txt`);
    await page.getByRole("alert").getByRole("heading").waitFor();
    expect(await isPwned(page)).toBe(false);
    await page.context().close();
  });

  test("no content of a root is a document of this origin", async () => {
    const page = await stage.visit("files/");
    for (const path of ["page.html", "image.svg", "code.js"]) {
      const ticket = (await call(stage.venue, "file:transfer", { root: "files", path, direction: "download" })) as {
        href: string;
      };
      const answer = await page.request.get(ticket.href);
      expect(answer.headers()).toMatchObject({
        "content-disposition": expect.stringMatching(/^attachment/),
        "x-content-type-options": "nosniff",
      });
      const tried = await page.evaluate(`new Promise((resolve) => {
        const script = document.createElement("script");
        script.onload = () => resolve("loaded"); script.onerror = () => resolve("refused");
        try { script.src = ${JSON.stringify(ticket.href)}; } catch { resolve("refused"); }
        document.head.append(script);
      })`);
      expect(tried).toBe("refused");
    }
    await page.context().close();
  });

  test("scripts cannot be put into the page: no inline script, no sink takes a string", async () => {
    const page = await stage.visit("files/");
    await page.getByRole("heading", { name: "Roots" }).waitFor();
    const tried = await page.evaluate(`[
      (() => { const s = document.createElement("script"); try { s.textContent = "self.pwned = 1" ; document.head.append(s) } catch {} return self.pwned === 1 })(),
      (() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return true } catch { return false } })(),
      (() => { try { trustedTypes.createPolicy("x", { createHTML: (t) => t }); return true } catch { return false } })(),
      (() => { const b = document.createElement("button"); try { b.setAttribute("onclick", "self.pwned = 1") } catch {}; document.body.append(b); b.click(); b.remove(); return self.pwned === 1 })(),
    ]`);
    expect(tried).toEqual([false, false, false, false]);
    await page.context().close();
  });

  test("pages of another origin can neither frame it nor read it, and get no handle on it", async () => {
    const { port } = other.address() as AddressInfo;
    const page = await (await stage.browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    const url = stage.venue.url;
    const tried = await page.evaluate(`(async () => {
      const load = (tag, key, src) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve("loaded"); element.onerror = () => resolve("refused");
        element[key] = src; document.body.append(element);
      });
      return [
        await fetch("${url}/workspace/").then(() => "read", () => "refused"),
        await fetch("${url}/api/v1/run", { method: "POST", body: "{}", mode: "no-cors" }).then((r) => r.type, () => "refused"),
        await load("img", "src", "${url}/api/v1/files/files/image.svg"),
        await load("script", "src", "${url}/api/v1/files/files/code.js"),
      ];
    })()`);
    expect(tried).toEqual(["refused", expect.stringMatching(/opaque|refused/), "refused", "refused"]);
    const frames = async (path: string): Promise<string> => {
      await page.evaluate(`new Promise((resolve) => {
        const frame = Object.assign(document.createElement("iframe"), { src: "${url}${path}", onload: () => resolve() });
        document.body.replaceChildren(frame);
      })`);
      return /^chrome-error:/.test(String(await page.frames().at(-1)?.evaluate("location.href")))
        ? "refused"
        : "framed";
    };
    expect([await frames("/workspace/"), await frames("/workspace/preview")]).toEqual(["refused", "refused"]);
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.evaluate(`self.handle = open("${url}/workspace/")`),
    ]);
    await popup.waitForLoadState();
    expect(await popup.evaluate("self.opener === null")).toBe(true);
    await page.context().close();
  });

  test("no cookie is set, and no token stands in an address or where other tabs keep things", async () => {
    const page = await stage.visit("files/");
    const urls: string[] = [];
    page.on("request", (request) => urls.push(request.url()));
    for (const [path, shown] of [
      ["files/files/", ".entry:not(.header)"],
      ["files/files/bypass-0.md", "iframe.preview"],
      ["access", "tbody tr"],
      ["status", ".numbers"],
    ] as const) {
      await page.goto(`${stage.venue.url}/workspace/${path}`);
      await page.locator(shown).first().waitFor();
    }
    expect(urls.filter((url) => url.includes(TOKENS.alice))).toEqual([]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("[localStorage.length, document.cookie]")).toEqual([0, ""]);
    await page.context().close();
  });
});
