// Bars of the workspace page: opening differences, and a stream of events.

/** 1 MB of lines; every `each`th of them differs from those of another `kind`. */
const linesOf = (kind, each) =>
  Array.from(
    { length: 20_000 },
    (_, index) => `${String(index).padStart(8, "0")} ${(index % each === 0 ? kind : "x").repeat(40)}\n`,
  ).join("");

export async function diff({ call, repeat, goTo, report, headers }) {
  for (const [name, each, what, bar] of [
    ["some.txt", 100, "diff of 2 × 1 MB, 1 % of the lines changed", 1000],
    ["all.txt", 1, "the same, nothing alike", 1500],
  ]) {
    for (const kind of ["a", "b"]) await call("file:write", { root: "kept", path: name, content: linesOf(kind, each) });
    const shown = await repeat("changes/kept/none.txt", "document.querySelector('.empty')", async (page) => {
      const [change] = await page.evaluate(`fetch("/api/v1/run", { method: "POST", headers: ${JSON.stringify(headers)},
        body: JSON.stringify({ operation: "file:history", input: { root: "kept", path: "${name}", limit: 1 } }),
      }).then((response) => response.json()).then(({ entries }) => entries.map(({ id }) => id))`);
      return goTo(page, `changes/kept/${name}?change=${change}`, "document.querySelector('.file-diff .counts')");
    });
    report(what, shown, bar);
  }
}

/** The page's stream of events is one of its own making, so that the venue and its callers take nothing of the core. */
export async function events({ open, visit, whenShown, report, quick }) {
  const lastingMs = quick ? 6000 : 30_000;
  const page = await open();
  await page.addInitScript({
    content: `{
      const own = fetch, encoder = new TextEncoder();
      let id = 0;
      const event = () => {
        id += 1;
        const record = { time: Date.now(), caller: "did:key:z6MkBench:token:bench", operation: "file:read", via: "0123456789",
          resource: "file://files/few/file-" + id + ".txt", outcome: id % 50 ? "OK" : "CAPABILITY_DENIED", ms: 1.5 };
        return "id: e" + id + "\\nevent: audit\\ndata: " + JSON.stringify(record) + "\\n\\n";
      };
      self.fetch = (url, options) => String(url).includes("/api/v1/events")
        ? Promise.resolve(new Response(new ReadableStream({
            start: (to) => {
              const began = Date.now();
              setInterval(() => {
                const many = Date.now() - began - id;
                if (many > 0) to.enqueue(encoder.encode(Array.from({ length: many }, event).join("")));
              }, 10);
            },
          })))
        : own(url, options);
      self.tasks = [];
      new PerformanceObserver((list) => self.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    }`,
  });
  await visit(page, "activity");
  await whenShown(page, "document.querySelectorAll('.record').length > 10");
  await page.evaluate("self.tasks.length = 0");
  await page.waitForTimeout(lastingMs);
  const { longest, kept } = await page.evaluate(
    `({ longest: Math.max(0, ...self.tasks), kept: Number(document.querySelector(".records").getAttribute("aria-rowcount")) - 1 })`,
  );
  report("1,000 events/s: longest task", longest, 100);
  report("the same: newest events that are not kept", Math.max(0, Math.min(5000, lastingMs) - kept), 0, "events");
  await page.context().close();
}
