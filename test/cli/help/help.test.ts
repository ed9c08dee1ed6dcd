import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { VENUE_OPERATIONS } from "../../../src/venue/operations/venue-adapters.js";
import { describeWhere, needs } from "../../needs.js";
import { runHere } from "../in-process.js";
import { CLI, cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

// Every help page, completion script and refused command line, byte for byte.
const read = (name: string): string => readFileSync(join(import.meta.dirname, "golden", name), "utf8");

/** The command lines of a file, each with what is written. */
const recorded = (name: string): readonly (readonly [string, string])[] =>
  read(name)
    .split(/^\$ venue-files ?/m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1)] as const;
    });

const wordsOf = (line: string): string[] => line.split(" ").filter((word) => word !== "");

test.each(recorded("pages.txt"))("venue-files %s", async (line, page) => {
  expect(await runHere(wordsOf(line))).toMatchObject({ status: 0, stdout: page, stderr: "" });
});

test("every command has its page among them", async () => {
  const { stdout } = await runHere(["help"]);
  const pages = recorded("pages.txt").map(([line]) => line);
  const { stderr } = await runHere(["frobnicate"]);
  const [, names = ""] = /Commands: (.*)/.exec(stderr) ?? [];
  for (const name of names.split(", ")) {
    expect(pages.some((page) => page === `help ${name}` || page.startsWith(`help ${name} `) || name === "help")).toBe(
      true,
    );
  }
  expect(stdout).toContain("venue-files help grant");
});

test.each(["bash", "zsh", "fish", "powershell"])("completion of %s", async (shell) => {
  expect((await runHere(["completion", shell])).stdout).toBe(read(`completion.${shell}`));
});

test("a wrong command line is refused in these words, and says where its help is", async () => {
  const lines = recorded("errors.txt");
  const said: (readonly [string, string])[] = [];
  for (const [line] of lines) {
    const { status, stdout, stderr } = await runHere(wordsOf(line));
    said.push([line, status === 64 && stdout === "" ? stderr : `exit status ${status}: ${stderr}`]);
  }
  expect(said).toEqual(lines);
});

test("the help of call names every operation", async () => {
  const { stdout } = await runHere(["help", "call"]);
  const named: readonly string[] = stdout.slice(stdout.indexOf("Operations:")).match(/\b[a-z]+:[a-zA-Z]+\b/g) ?? [];
  const all = [...OPERATIONS.map(({ name }) => `file:${name}`), ...VENUE_OPERATIONS.map(({ name }) => name)];
  expect(all.filter((name) => !named.includes(name))).toEqual([]);
});

// Completion scripts, in the shells that are here, and what they ask the program for.
describe("completions", () => {
  const BARE = { PATH: process.env["PATH"] ?? "" };
  const has = (shell: string): boolean => {
    try {
      execFileSync(shell, ["-c", "exit 0"]);
      return true;
    } catch {
      return false;
    }
  };

  let folder: string;
  beforeAll(() => {
    folder = makeFolder({ "docs/read me.md": "", "docs/sub/a.txt": "", "docs/sea.txt": "", "venue.json5": "{}" });
  });

  test.each(["bash", "zsh", "fish", "powershell"])(
    "the script for %s is at most 12 kB and names every command",
    async (shell) => {
      const { stdout } = await runHere(["completion", shell]);
      expect(stdout.length).toBeLessThan(12_288);
      for (const word of ["serve", "init", "grep", "claude-code", "if-match", "__complete"])
        expect(stdout).toContain(word);
      if (shell !== "powershell" && has(shell)) {
        const file = join(folder, `script.${shell}`);
        writeFileSync(file, stdout);
        execFileSync(shell, ["-n", file], { env: BARE });
      }
    },
  );

  test.each(["sh", "cmd"])("there is none for %s, and it says which there are", async (shell) => {
    const done = await runHere(["completion", shell]);
    expect(done).toMatchObject({ status: 64, stderr: expect.stringContaining("bash, zsh, fish") });
  });

  describe("in PowerShell", () => {
    let script: string;
    beforeAll(async () => {
      script = (await runHere(["completion", "powershell"])).stdout;
    });

    test("a completer of a program is registered that knows commands, second words, options and clients", () => {
      expect(script).toContain("Register-ArgumentCompleter -Native -CommandName venue-files -ScriptBlock {");
      expect(script).toMatch(/^ {4}'key' \{ \$command = "\$one \$\(\$words\[2\]\)"; .*'new','show' \} \}$/m);
      expect(script).toMatch(/\$_ -in [^}]*'token inspect'[^}]*\} \{ \$options = [^}]*'--help'/);
      expect(script).toMatch(/'--for' -and \$one -eq 'init'\) \{ \$candidates = [^}]*'claude-code'/);
      expect(script).toMatch(/\$words\[\$at - 1\] -in '--config',[^)]*\) \{ return \}/);
    });

    test("brackets and quotes are closed, and nothing that a file is called is run", () => {
      const code = script.replace(/'[^'\n]*'|"[^"\n]*"/g, '""').replace(/^#.*/, "");
      expect(code).not.toMatch(/['`]/);
      for (const pair of ["{}", "()", "[]"]) {
        const [open = "", close = ""] = pair;
        expect([pair, code.split(open).length]).toEqual([pair, code.split(close).length]);
      }
      expect(script).toContain("-replace \"['\\u2018-\\u201b]\", '$0$0')");
      expect(script).not.toMatch(/Invoke-Expression\s+\$|iex/);
    });
  });

  describeWhere(has("bash"), "there is no bash")("in bash", () => {
    /** What TAB offers behind a line; `venue-files` in it is the built program. */
    async function offered(line: string): Promise<readonly string[]> {
      const { stdout: script } = await runHere(["completion", "bash"]);
      const text = `
      venue-files() { "${process.execPath}" "${CLI}" "$@"; }
      compopt() { :; }
      ${script}
      COMP_LINE="$1" COMP_POINT=\${#1} _venue_files
      printf '%s\\n' "\${COMPREPLY[@]}"`;
      const output = execFileSync("bash", ["--norc", "-c", text, "bash", line], {
        cwd: folder,
        env: BARE,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"],
      });
      return output.split("\n").filter((word) => word !== "");
    }

    test.each([
      ["venue-files se", ["serve"]],
      ["venue-files drive ex", ["export", "export-key"]],
      ["venue-files token ", ["inspect", "identity"]],
      ["venue-files serve --ho", ["--host"]],
      ["venue-files token inspect --wi", ["--with"]],
      ["venue-files init --for cl", ["claude-code", "claude-desktop"]],
      ["venue-files completion z", ["zsh"]],
      ["venue-files grep --ig", ["--ignore-case"]],
      ["venue-files cat --root docs=./docs d", ["docs:"]],
      ["venue-files cat --root docs=./docs docs:s", ["sea.txt", "sub/"]],
      ["venue-files cat --root docs=./docs docs:sub/", ["sub/a.txt"]],
      ["venue-files cat --root docs=./docs nothing:", []],
      ["venue-files cat --bogus docs:", []],
      ["venue-files cat --config missing.json5 docs:", []],
    ])("%s", async (line, expected) => {
      expect(await offered(line)).toEqual(expect.arrayContaining(expected));
      if (expected.length === 0) expect(await offered(line)).toEqual([]);
    });
  });

  /** The built program as a command. */
  function programFolder(): string {
    const bin = makeFolder({ "venue-files": `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n` });
    chmodSync(join(bin, "venue-files"), 0o755);
    return bin;
  }

  describeWhere(has("fish"), "there is no fish")("in fish", () => {
    test.each([
      ["venue-files se", ["serve"]],
      ["venue-files drive ex", ["export", "export-key"]],
      ["venue-files init --for cl", ["claude-code", "claude-desktop"]],
      ["venue-files cat --root docs=./docs d", ["docs:"]],
      ["venue-files cat --root docs=./docs docs:s", ["docs:sea.txt", "docs:sub/"]],
    ])("%s", (line, expected) => {
      const text = "venue-files completion fish | source; complete -C $argv[1]";
      const output = execFileSync("fish", ["--no-config", "-c", text, line], {
        cwd: folder,
        env: { PATH: `${programFolder()}:${BARE.PATH}`, HOME: folder },
        encoding: "utf8",
      });
      const offered = output.split("\n").map((one) => one.split("\t")[0]);
      expect(offered).toEqual(expect.arrayContaining(expected));
    });
  });

  describeWhere(has("zsh"), "there is no zsh")("in zsh", () => {
    // A shell at a terminal of its own: what is typed, with TAB at the end, becomes what was meant, and nothing is complained about.
    test.each([
      ["venue-files compl", "venue-files completion"],
      ["venue-files drive verif", "venue-files drive verify"],
      ["venue-files init --for zed", "venue-files init --for zed"],
      ["venue-files cat --root docs=./docs docs:se", "venue-files cat --root docs=./docs docs:sea.txt"],
      ["venue-files put docs/sea", "venue-files put docs/sea.txt"],
    ])("%s", (typed, completed) => {
      const text = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1= RPS1=; setopt no_beep; autoload -Uz compinit; compinit -u -D; eval "$(venue-files completion zsh)"; print RE""ADY'
      zpty -r shell shown "*READY*"
      zpty -w -n shell "$1"$'\t'
      zpty -r shell shown "*$2*"
      print -r -- "$shown"
      zpty -d shell`;
      const output = execFileSync("zsh", ["-f", "-c", text, "zsh", typed, completed], {
        cwd: folder,
        env: { PATH: `${programFolder()}:${BARE.PATH}`, HOME: folder, TERM: "dumb" },
        encoding: "utf8",
        // What is not completed is waited for in vain.
        timeout: 180_000,
      });
      expect(output).toContain(completed);
      expect(output).not.toMatch(/bad |not found|not an identifier|error/);
    });
  });

  needs(has("bash"), "there is no bash")(
    "a name that is a command of the shell is offered quoted, and not run",
    async () => {
      const hostile = makeFolder({ "$(touch ran)": "", "`touch ran`": "" });
      const { stdout: script } = await runHere(["completion", "bash"]);
      const text = `
    venue-files() { "${process.execPath}" "${CLI}" "$@"; }
    compopt() { :; }
    ${script}
    COMP_LINE="venue-files cat --root x=. x:"
    COMP_POINT=\${#COMP_LINE} _venue_files
    printf '%s\\n' "\${COMPREPLY[@]}"`;
      const output = execFileSync("bash", ["--norc", "-c", text], {
        cwd: hostile,
        env: BARE,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"],
      });
      expect(output).toContain("\\$\\(touch\\ ran\\)");
      expect(existsSync(join(hostile, "ran"))).toBe(false);
    },
  );

  test("__complete says nothing on any error, and leaves a name with a space whole", async () => {
    for (const words of [[], ["venue-files"], ["venue-files", "cat", "--nope", "a"], ["venue-files", "serve", "a"]]) {
      expect(await runHere(["__complete", ...words], { cwd: folder })).toMatchObject({
        status: 0,
        stdout: "",
        stderr: "",
      });
    }
    const { stdout } = await runHere(["__complete", "venue-files", "cat", "--root", "docs=docs", "docs:r"], {
      cwd: folder,
    });
    expect(stdout).toBe("docs:read me.md\n");
  });
});
