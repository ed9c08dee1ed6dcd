import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { hashOf, KINDS, useBed } from "./bed.js";

const APP =
  "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/')\ndef hello():\n    return 'Hello, World!'\n";

/** What the page shows, as it shows it. */
describe.each(KINDS)("the example of the page on a %s root", (kind) => {
  const { call } = useBed({ kind });

  test("an agent creates a Flask app", async () => {
    expect(await call("write_file", { path: "/workspace/app.py", content: APP })).toMatchObject({ created: true });
    const requirements = { path: "/workspace/requirements.txt", content: "flask>=3.0\n" };
    expect(await call("write_file", requirements)).toMatchObject({ content_hash: hashOf("flask>=3.0\n") });
  });

  test("and updates it safely", async () => {
    const { content_hash } = await call("read_file", { path: "/workspace/app.py" });
    const edit = {
      path: "/workspace/app.py",
      expected_hash: content_hash,
      edits: [{ old_text: "return 'Hello, World!'", new_text: "return 'Hello from Everruns!'" }],
    };
    const edited = APP.replace("Hello, World!", "Hello from Everruns!");
    expect(await call("edit_file", edit)).toMatchObject({
      ...{ path: "/workspace/app.py", content_hash: hashOf(edited), previous_content_hash: content_hash },
      ...{ applied_edits: 1, first_changed_line: 6, diff_truncated: false },
      diff: expect.stringContaining("-    return 'Hello, World!'\n+    return 'Hello from Everruns!'\n"),
    });
    expect(await call("read_file", { path: "/workspace/app.py" })).toMatchObject({ content: edited });
    // The hash of before is of no use any more.
    expect(await call("edit_file", edit)).toEqual({
      error: `File '/workspace/app.py' changed since the last read. Expected ${content_hash}, found ${hashOf(edited)}. Read the file again before editing.`,
    });
  });
});

describe("the page about it", () => {
  const page = readFileSync(new URL("../../../docs/profile-everruns.md", import.meta.url), "utf8");

  test("names tests that there are", () => {
    const rows = [...page.matchAll(/\| `([\w.-]+\.test\.ts)`: (.+) \|$/gm)];
    expect(rows.length).toBeGreaterThan(15);
    const unknown = rows.filter(([, file = "", title = ""]) => {
      const source = readFileSync(new URL(file, import.meta.url), "utf8");
      return !source.includes(`"${title}"`);
    });
    expect(unknown.map(([row]) => row)).toEqual([]);
  });
});
