// The service files of macOS and Windows, as far as their texts say. Neither was run: what they start is tested elsewhere.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { SaxesParser } from "saxes";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

describe("the agent of launchd", () => {
  /** Values by key, as the file has them in a row; of an array or dict its texts. */
  function valuesOf(xml: string): ReadonlyMap<string, readonly string[]> {
    const values = new Map<string, string[]>();
    let [key, text] = ["", ""];
    const parser = new SaxesParser();
    parser.on("error", (error) => {
      throw error;
    });
    parser.on("text", (read) => {
      text = read.trim();
    });
    parser.on("closetag", ({ name }) => {
      if (name === "key") key = text;
      else if (["string", "integer", "true", "false"].includes(name)) {
        values.set(key, [...(values.get(key) ?? []), text || name]);
      }
      text = "";
    });
    parser.write(xml).close();
    return values;
  }

  test("serves a configuration, again after a fault, and lets it end in order", () => {
    const values = valuesOf(read("deploy/venue-files.plist"));
    const [node = "", program = "", ...words] = values.get("ProgramArguments") ?? [];
    expect([node, program].every((path) => path.startsWith("/"))).toBe(true);
    expect(program).toMatch(/\/dist\/cli\.js$/);
    expect(words).toEqual(["serve", "--config", expect.stringMatching(/^\//)]);
    expect(values.get("RunAtLoad")).toEqual(["true"]);
    expect(values.get("SuccessfulExit")).toEqual(["false"]);
    // Open requests have five seconds.
    expect(Number(values.get("ExitTimeOut"))).toBeGreaterThan(10);
    expect(Number(values.get("Umask"))).toBe(0o077);
  });

  test("has the name that its instructions use", () => {
    const text = read("deploy/venue-files.plist");
    const [label = ""] = valuesOf(text).get("Label") ?? [];
    expect(text).toContain(`bootout gui/$UID/${label} `);
    expect(text).toContain(`~/Library/LaunchAgents/${label}.plist\n`);
  });
});

describe("the scheduled task", () => {
  const text = read("deploy/venue-files-task.ps1");
  const code = text.replace(/^#.*\n/gm, "").replace(/^\s+#.*\n/gm, "");

  test("checks the configuration, then serves it with the user's plain rights and no end", () => {
    expect(code).toMatch(/check --config \$file\nif \(\$LASTEXITCODE -ne 0\) \{ throw/);
    expect(code.indexOf("check --config")).toBeLessThan(code.indexOf("Register-ScheduledTask"));
    expect(code).toContain('-Argument "`"$cli`" serve --config `"$file`""');
    expect(code).toMatch(/-LogonType S4U -RunLevel Limited/);
    expect(code).toContain("-ExecutionTimeLimit ([TimeSpan]::Zero)");
    expect(code).not.toMatch(/-Password|Highest|Invoke-Expression/);
  });

  test("is closed where it was opened, and takes away what it made", () => {
    const plain = code.replace(/`"/g, "").replace(/'[^'\n]*'|"[^"\n]*"/g, '""');
    for (const [open = "", close = ""] of ["{}", "()", "[]"])
      expect(plain.split(open).length).toBe(plain.split(close).length);
    expect(code).toMatch(/if \(\$Remove\) \{\n {2}Stop-ScheduledTask[^}]*Unregister-ScheduledTask/);
  });
});

test("the page on Windows names the files that `init` writes there, and fits the package", async () => {
  const { CLIENTS } = await import("../../src/cli/init/clients.js");
  const page = read("docs/windows.md");
  expect(Buffer.byteLength(page)).toBeLessThan(6144);
  const env = { APPDATA: "%APPDATA%", LOCALAPPDATA: "%LOCALAPPDATA%" };
  for (const isFolder of [() => true, () => false]) {
    for (const [name, client] of Object.entries(CLIENTS)) {
      const file = client.file(".", { system: "win32", home: "%USERPROFILE%", env, isFolder });
      expect([name, page.includes(`\`${file}\``)]).toEqual([name, true]);
      expect(page).toContain(`\`${name}\``);
    }
  }
});
