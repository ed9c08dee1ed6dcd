import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { checkOpened, foldersOfClient, realFolders, rootsForClient } from "../../../src/cli/mcp/client-roots.js";
import { parseConfig } from "../../../src/config/load.js";
import { isObject } from "../../../src/core/unknown.js";
import { touchesSecrets } from "../../../src/venue/start/state/secrets.js";
import { type RawClient, startRaw } from "../../surfaces/mcp/raw.js";
import { textOf } from "../../surfaces/mcp/sessions.js";
import { runHere } from "../in-process.js";
import { did, type Ground, makeGround, secretsIn, tokenOf } from "../people.js";
import { cleanUp, makeFolder, type Running, start } from "../process.js";

afterAll(cleanUp);

describe("roots of the client", () => {
  const isNotOurs = () => false;

  /** `allowed` is what `--within` names; a secret lies beside it. */
  function makeGround() {
    const base = realpathSync(makeFolder({ "outside/secret.txt": "secret", "allowed/app/a.txt": "one" }));
    const [allowed, outside] = [join(base, "allowed"), join(base, "outside")];
    symlinkSync(outside, join(allowed, "out"));
    symlinkSync(allowed, join(outside, "in"));
    mkdirSync(join(base, "allowed-not"));
    mkdirSync(join(allowed, "with space"));
    return { base, allowed, outside };
  }
  type Ground = ReturnType<typeof makeGround>;

  describe("a folder of a client is left out where", () => {
    test.each<[string, (ground: Ground) => string]>([
      ["it lies elsewhere", ({ outside }) => pathToFileURL(outside).href],
      ["its name only begins alike", ({ base }) => pathToFileURL(join(base, "allowed-not")).href],
      ["it is the parent", ({ base }) => pathToFileURL(base).href],
      ["it is everything", () => "file:///"],
      ["a link leads out", ({ allowed }) => pathToFileURL(join(allowed, "out")).href],
      ["a link on the way leads out", ({ allowed }) => `${pathToFileURL(allowed).href}/app/../out/`],
      ["dots lead out", ({ allowed }) => `file://${allowed}/app/../../outside`],
      ["encoded dots lead out", ({ allowed }) => `file://${allowed}/app/%2e%2e/%2E%2E/outside`],
    ])("%s", async (_, uriIn) => {
      const ground = makeGround();
      const uri = uriIn(ground);
      // The folder is there and can be read: only the check keeps it out.
      expect(realpathSync(fileURLToPath(uri))).not.toMatch(new RegExp(`^${ground.allowed}(/|$)`));
      expect(await foldersOfClient([uri], [ground.allowed], isNotOurs)).toEqual([]);
    });

    test.each<[string, (ground: Ground) => string]>([
      ["it is a file", ({ allowed }) => `file://${allowed}/app/a.txt`],
      ["it is not there", ({ allowed }) => `file://${allowed}/nope`],
      ["it is a path", ({ allowed }) => allowed],
      ["it has another scheme", ({ allowed }) => `http://localhost${allowed}/app`],
      ["it is on another host", ({ allowed }) => `file://elsewhere${allowed}/app`],
      ["a slash is encoded", ({ allowed }) => `file://${allowed}%2Fapp`],
      ["it holds a nul", ({ allowed }) => `file://${allowed}/app%00`],
      ["it is no UTF-8", ({ allowed }) => `file://${allowed}/%ff`],
      ["it is nothing", () => ""],
    ])("%s", async (_, uriIn) => {
      const ground = makeGround();
      const app = pathToFileURL(join(ground.allowed, "app")).href;
      const found = await foldersOfClient([uriIn(ground), app], [ground.allowed], isNotOurs);
      expect(found).toEqual([join(ground.allowed, "app")]);
    });

    test("it holds the state of the venue, or lies in it", async () => {
      const home = realpathSync(makeFolder({ "state/keys/alice": "x", "work/a.txt": "one" }));
      const config = parseConfig({ stateDir: "state" }, { baseDir: home });
      const isOurs = (path: string) => touchesSecrets(path, config, {});
      const uris = [home, join(home, "state"), join(home, "state/keys"), join(home, "work")].map(
        (p) => pathToFileURL(p).href,
      );
      expect(await foldersOfClient(uris, [home], isOurs)).toEqual([join(home, "work")]);
      expect(await foldersOfClient(uris, [home], isNotOurs)).toHaveLength(4);
    });
  });

  describe("a folder of a client", () => {
    test("is served by its real path, once, also where it is the folder of --within or is named by a link", async () => {
      const { allowed, outside } = makeGround();
      const uris = ["", "/app", "/with%20space/", "/app/../app"].map((rest) => `file://${allowed}${rest}`);
      const found = await foldersOfClient([...uris, `file://${outside}/in/app`], [allowed], isNotOurs);
      expect(found).toEqual([allowed, join(allowed, "app"), join(allowed, "with space")]);
    });

    test("is a root named like it, numbered when alike, never by a name that is taken", () => {
      const long = "n".repeat(80);
      const roots = rootsForClient(["/a/app", "/b/app", "/c/app", `/d/${long}`, "/e/ä", "/f/__proto__"], {
        isTaken: (name) => name === "client-app",
        protect: ["@git"],
      });
      expect(Object.entries(roots).map(([name, root]) => [name, root.path])).toEqual([
        ["client-app-2", "/a/app"],
        ["client-app-3", "/b/app"],
        ["client-app-4", "/c/app"],
        [`client-${"n".repeat(51)}`, `/d/${long}`],
        ["client-root", "/e/ä"],
        ["client-proto__", "/f/__proto__"],
      ]);
      expect(Object.values(roots).every(({ protect }) => protect?.[0] === "@git")).toBe(true);
    });

    test("that has become a link is found out when it is open", () => {
      const judged = { "client-app": { path: "/src/app" } };
      expect(() => checkOpened(judged, [{ name: "client-app", hostPath: "/etc" }])).toThrow(
        "Root 'client-app' was replaced while it was opened",
      );
      expect(() => checkOpened(judged, [{ name: "client-app", hostPath: "/src/app" }])).not.toThrow();
    });
  });

  describe("--within", () => {
    test("is a folder, by its real path; ~ is the home", async () => {
      const { allowed, outside, base } = makeGround();
      expect(await realFolders(["allowed", join(outside, "in"), "~"], base)).toEqual([
        allowed,
        allowed,
        realpathSync(homedir()),
      ]);
      await expect(realFolders(["nope", "allowed/app/a.txt", "allowed"], base)).rejects.toMatchObject({
        problems: ["nope", "allowed/app/a.txt"].map((path) => `--within must be a folder that can be read: '${path}'`),
      });
    });

    test.each([
      [
        "mcp --client-roots",
        "--client-roots needs --within, the folder that they must lie in, for example --within ~/src",
      ],
      ["mcp --within /a", "--within needs --client-roots, whose folders it bounds"],
      ["mcp --client-roots --within", "--within needs a value, for example --within ~/src"],
      [
        "mcp --client-roots --within /a --profile jettson",
        "--client-roots does not go with --profile, whose tools work on one root of yours",
      ],
      ["serve --client-roots --within /a", "'serve' has no option --client-roots"],
      ["mcp /a --url http://h", "'mcp' has no option --url"],
    ])("%s", async (line, message) => {
      expect((await runHere(line.split(" "))).stderr).toBe(`${message}\nSee: venue-files help ${line.split(" ")[0]}\n`);
    });
  });

  interface Message {
    readonly id?: unknown;
    readonly method?: string;
    readonly result?: { readonly structuredContent?: unknown; readonly instructions?: string };
  }

  /** A client that answers `roots/list` as it is told. */
  class RootsClient {
    readonly running: Running;
    readonly messages: Message[] = [];
    #rest = "";
    #waiting: (() => void)[] = [];

    /** @param answer result or error of `roots/list`; `undefined`: the client offers no roots */
    constructor(args: readonly string[], answer: object | undefined, protocolVersion = "2025-06-18") {
      this.running = start(["mcp", ...args]);
      this.running.child.stdout.on("data", (chunk: string) => {
        const lines = (this.#rest + chunk).split("\n");
        this.#rest = lines.pop() ?? "";
        for (const line of lines) {
          const message = JSON.parse(line) as Message;
          this.messages.push(message);
          if (message.method === "roots/list") this.send({ id: message.id, ...answer });
          if (message.id === 0) this.send({ method: "notifications/initialized" });
        }
        for (const look of this.#waiting.splice(0)) look();
      });
      const capabilities = answer === undefined ? {} : { roots: { listChanged: true } };
      const params = { protocolVersion, capabilities, clientInfo: { name: "test", version: "1" } };
      this.send({ id: 0, method: "initialize", params });
    }

    send(message: object): void {
      this.running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    }

    /** The structured answer to a call of a tool. */
    async call(name: string, args: object = {}): Promise<unknown> {
      const id = `call ${this.messages.length} ${name}`;
      this.send({ id, method: "tools/call", params: { name, arguments: args } });
      for (;;) {
        const found = this.messages.find((message) => message.id === id);
        if (found !== undefined) return found.result;
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    }

    async end(): Promise<{ status: number | null; stderr: string }> {
      this.running.child.stdin.end();
      return this.running.ended;
    }
  }

  const rootsOf = (...paths: string[]) => ({
    result: { roots: paths.map((path) => ({ uri: pathToFileURL(path).href })) },
  });
  const namesIn = (answer: unknown): string[] =>
    [...JSON.stringify(answer).matchAll(/\\?"name\\?":\\?"([^"\\]+)\\?"/g)].map(([, name]) => name ?? "");

  describe("mcp --client-roots", () => {
    test.each(["2025-06-18", "2025-03-26"])("serves the folders of the client in --within: %s", async (revision) => {
      const { allowed, outside } = makeGround();
      mkdirSync(join(allowed, "app/.git"));
      const answer = rootsOf(join(allowed, "app"), outside);
      const client = new RootsClient(["--client-roots", "--within", allowed], answer, revision);
      expect(new Set(namesIn(await client.call("file_roots")))).toEqual(new Set(["client-app"]));
      const content = { content: "x", root: "client-app" };
      expect(await client.call("file_write", { ...content, path: "b.txt" })).not.toMatchObject({ isError: true });
      expect(readFileSync(join(allowed, "app/b.txt"), "utf8")).toBe("x");
      expect(JSON.stringify(await client.call("file_write", { ...content, path: ".git/config" }))).toContain(
        "DENIED_BY_POLICY",
      );
      // Who writes these decides what the client starts next.
      for (const path of [".mcp.json", ".cursor/mcp.json", ".claude/settings.json"]) {
        const refused = await client.call("file_write", { ...content, path, parents: true });
        expect(JSON.stringify(refused)).toContain("DENIED_BY_POLICY");
      }
      await client.call("file_write", { ...content, path: "new/mcp.json", parents: true });
      const moved = await client.call("file_move", { root: "client-app", path: "new", to: ".cursor" });
      expect(JSON.stringify(moved)).toContain("DENIED_BY_POLICY");
      expect(JSON.stringify(await client.call("file_read", { root: "client-outside", path: "secret.txt" }))).toContain(
        "UNKNOWN_ROOT",
      );
      // Later changes widen nothing.
      client.send({ method: "notifications/roots/list_changed" });
      expect(await client.call("file_roots")).toBeDefined();
      expect(client.messages.filter(({ method }) => method === "roots/list")).toHaveLength(1);
      const { status, stderr } = await client.end();
      expect(stderr).toMatch(/^Roots of the client: client-app; 1 of its 2 are left out: /);
      expect(stderr).toContain(".git and settings of MCP clients (.mcp.json and the like) may be read, not changed");
      expect(stderr).not.toContain(outside);
      expect(status).toBe(0);
    });

    test("gives way to the roots of the configuration, and is narrowed like them", async () => {
      const { allowed, base } = makeGround();
      const file = join(base, "venue.json5");
      writeFileSync(file, `{ file: { roots: { "client-app": { temp: true } } } }`);
      const args = ["--client-roots", "--within", allowed, "--config", file, "--read-only", "--no-protect"];
      const client = new RootsClient(args, rootsOf(join(allowed, "app")));
      expect(new Set(namesIn(await client.call("file_roots")))).toEqual(new Set(["client-app", "client-app-2"]));
      const written = await client.call("file_write", { root: "client-app-2", path: "b", content: "" });
      // Without a root to write in, the tools that write are not even there.
      expect(written).toBeUndefined();
      expect((await client.end()).stderr).not.toContain("may be read, not changed");
    });

    test.each<[string, object | undefined]>([
      ["it does not offer any", undefined],
      ["its list is empty", { result: { roots: [] } }],
      ["its answer is no list", { result: {} }],
      ["it answered with an error", { error: { code: -32601, message: "no" } }],
      ["2 of its 2 are left out", rootsOf("/", "/nope")],
    ])("says where there are none: %s", async (reason, answer) => {
      const { allowed } = makeGround();
      const own = new RootsClient(["--client-roots", "--within", allowed, "--root", `own=${allowed}`], answer);
      expect(new Set(namesIn(await own.call("file_roots")))).toEqual(new Set(["own"]));
      const { status, stderr } = await own.end();
      expect(stderr).toContain(`No roots of the client: ${reason}`);
      expect(stderr).toContain("Only those of the command line are served.");
      expect(status).toBe(0);
      const bare = new RootsClient(["--client-roots", "--within", allowed], answer);
      expect(await bare.running.ended).toMatchObject({
        status: 78,
        stderr: expect.stringMatching(/^No roots of the client: .*Name one with --root\n$/),
      });
    });

    test("is served with the roots of the command line alone where there is no handshake", async () => {
      const { allowed } = makeGround();
      const args = ["--client-roots", "--within", allowed, "--root", `own=${allowed}`];
      const client = await startRaw(args, { era: "newest" });
      // The very first message is a call.
      expect((await client.call("file_roots")).result.structuredContent).toMatchObject({ roots: [{ name: "own" }] });
      expect((await client.process.stop()).stderr).toContain("its protocol has no roots of a connection");
      const bare = start(["mcp", ...args.slice(0, 3)]);
      bare.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
      expect(await bare.ended).toMatchObject({ status: 78, stderr: expect.stringContaining("Name one with --root") });
    });

    test("ends with status 78 where --within is no folder", async () => {
      const client = new RootsClient(["--client-roots", "--within", "/nope"], undefined);
      expect(await client.running.ended).toMatchObject({ status: 78 });
    });
  });
});

const q3 = { root: "docs", path: "reports/q3.md" };

function startIn({ folder }: Ground, ...args: string[]) {
  return startRaw(["--config", "venue.json5", ...args], { cwd: folder, tmp: folder });
}

/** The code of a failure, or that there was none. */
async function outcome(client: Awaited<ReturnType<typeof startRaw>>, name: string, args: object): Promise<string> {
  const { result } = await client.call(name, args);
  const failure = result._meta?.["venue-files/error"] as { errorCode: string } | undefined;
  return failure?.errorCode ?? "OK";
}

describe("mcp with a key", () => {
  test.concurrent("acts as the DID of that key, with its rights and no others", async () => {
    const ground = makeGround();
    const alice = await startIn(ground, "--key", "alice");
    expect(await outcome(alice, "file_read", q3)).toBe("OK");
    expect(await outcome(alice, "file_mkdir", { root: "work", path: "b" })).toBe("CAPABILITY_DENIED");
    const bob = await startIn(ground, "--key", "bob");
    expect(await outcome(bob, "file_read", q3)).toBe("UNKNOWN_ROOT");
    await Promise.all([alice.process.stop(), bob.process.stop()]);
  });

  test.concurrent("sends its proofs with every call, beside those of the call", async () => {
    const ground = makeGround();
    writeFileSync(join(ground.folder, "bob.ucan"), await tokenOf("alice", "bob"));
    const client = await startIn(ground, "--key", "bob", "--proof", "bob.ucan");
    expect(await outcome(client, "file_read", q3)).toBe("OK");
    const { result } = await client.call("file_read", { root: "docs", path: "secret.md" });
    expect(textOf(result)).toMatch(
      /^Capability denied: .*Your capabilities are: crud\/read on file:\/\/docs\/reports\/\./,
    );
    const capabilities = [{ with: "file://docs/secret.md", can: "crud/read" }];
    const more = { ucans: [await tokenOf("alice", "bob", { capabilities })] };
    expect(await outcome(client, "file_read", { root: "docs", path: "secret.md", ...more })).toBe("OK");
    expect(await outcome(client, "file_read", { ...q3, ...more })).toBe("OK");
    const { stderr } = await client.process.stop();
    expect(secretsIn(client.lines().join("\n") + stderr)).toEqual([]);
  });

  test.concurrent("is narrowed by caps all the same", async () => {
    const ground = makeGround({ "caps.json5": '[{ with: "file://docs/reports/", can: "crud/read" }]' });
    const client = await startIn(ground, "--key", "alice", "--caps", "caps.json5");
    expect(await outcome(client, "file_read", q3)).toBe("OK");
    expect(await outcome(client, "file_read", { root: "docs", path: "secret.md" })).toBe("CAPABILITY_DENIED");
    await client.process.stop();
  });

  test.concurrent("offers what says who calls only where the configuration names it", async () => {
    const ground = makeGround({
      "venue.json5": `{ mcp: { includeAdapters: ["file", "auth"] }, file: { roots: { docs: { path: "docs", owner: "${did("alice")}" } } } }`,
    });
    const named = await startIn(ground, "--key", "alice");
    const { result } = await named.call("auth_whoami");
    expect(result.structuredContent).toMatchObject({ did: did("alice"), authentication: "key" });
    const plain = await startIn(makeGround(), "--key", "alice");
    const { result: list } = await plain.request("tools/list");
    expect(JSON.stringify(list)).not.toContain("auth_whoami");
    await Promise.all([named.process.stop(), plain.process.stop()]);
  });

  test.concurrent("does not start with a key that cannot be used", async () => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(["mcp", "--key", "dave"])).toMatchObject({
      status: 66,
      stdout: "",
      stderr: "Cannot use key 'dave': there is no such file. Make it with: venue-files key new dave\n",
    });
  });
});

// A folder whose changes cannot be kept, though by default they are: said at the start and in every answer.
describe("changes that are not kept", () => {
  const WITHOUT = fileURLToPath(new URL("../without-natives.cjs", import.meta.url));
  const LARGE = "x".repeat(70_000);

  type Environment = Readonly<Record<string, string>>;

  const makeProject = (): string =>
    makeFolder({
      ...{ "p/a.txt": "one\n", "p/b.txt": "two\n", "p/d/c.txt": "three\n", "p/large.txt": LARGE, file: "" },
      ...{ "p/m.txt": "four\n", "p/n.txt": "five\n", "p/o.txt": "six\n" },
    });

  const outputIn = async (client: RawClient, tool: string, args: object): Promise<Record<string, unknown>> => {
    const { result } = await client.call(tool, args);
    if (!isObject(result.structuredContent)) throw new Error(textOf(result));
    return result.structuredContent;
  };

  const rootsOf = async (client: RawClient): Promise<unknown> => (await outputIn(client, "file_roots", {}))["roots"];

  const outputOf = (client: RawClient, tool: string, args: object): Promise<Record<string, unknown>> =>
    outputIn(client, tool, { root: "p", ...args });

  const codeOf = async (client: RawClient, tool: string, args: object): Promise<unknown> => {
    const { result } = await client.call(tool, { root: "p", ...args });
    return (result._meta?.["venue-files/error"] as { errorCode?: unknown } | undefined)?.errorCode;
  };

  const linked = (folder: string): Environment => {
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    symlinkSync("real", join(folder, "link"));
    return { VENUE_FILES_STATE_DIR: join(folder, "link") };
  };

  const open = (folder: string): Environment => {
    mkdirSync(join(folder, "open"));
    chmodSync(join(folder, "open"), 0o777);
    return { VENUE_FILES_STATE_DIR: join(folder, "open") };
  };

  const foreign = (folder: string): Environment => {
    mkdirSync(join(folder, "foreign"), { mode: 0o700 });
    chownSync(join(folder, "foreign"), 12_345, 12_345);
    return { VENUE_FILES_STATE_DIR: join(folder, "foreign") };
  };

  const nothingKept: readonly (readonly [string, string, (folder: string) => Environment])[] = [
    ["the home is no folder", "no_state_dir", (folder) => ({ HOME: join(folder, "file") })],
    ["the home cannot be made", "no_state_dir", () => ({ HOME: "/proc/nobody" })],
    ["the state directory is a file", "no_state_dir", (folder) => ({ VENUE_FILES_STATE_DIR: join(folder, "file") })],
    ["the state directory is a link", "no_state_dir", linked],
    ["others may write in the state directory", "no_state_dir", open],
    ["the state directory lies in the folder", "no_state_dir", (folder) => ({ HOME: join(folder, "p") })],
    ["the database cannot be loaded", "no_lmdb", () => ({ NODE_OPTIONS: `--require ${WITHOUT}` })],
    ...(process.geteuid?.() === 0 ? [["the state directory is another user's", "no_state_dir", foreign] as const] : []),
  ];

  describe("where nothing can be kept", () => {
    test.each(nothingKept)("%s", async (_name, reason, prepare) => {
      const folder = makeProject();
      const client = await startRaw(["--tools", "full", join(folder, "p")], { env: prepare(folder) });
      expect(client.process.stderr()).toMatch(/Warning: Root 'p' does not keep what is replaced or deleted/);
      const unkept = { kept: false, reason };
      expect(await rootsOf(client)).toEqual([expect.objectContaining(unkept)]);
      expect(await outputOf(client, "file_delete", { path: "a.txt" })).toEqual({
        ...{ deleted: true, existed: true },
        ...{ trashed: false, reason },
      });
      expect(await outputOf(client, "file_delete", { path: "d", recursive: true })).toMatchObject({
        trashed: false,
        reason,
      });
      expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).toMatchObject(unkept);
      expect(await outputOf(client, "file_move", { path: "m.txt", to: "n.txt", overwrite: true })).toMatchObject(
        unkept,
      );
      expect(await outputOf(client, "file_copy", { path: "o.txt", to: "n.txt", overwrite: true })).toMatchObject(
        unkept,
      );
      const { result } = await client.call("file_edit", { root: "p", path: "b.txt", oldText: "2", newText: "3" });
      expect(JSON.stringify(result.content)).toContain(`what was there is not kept: ${reason}`);
      // Where nothing was before, nothing is lost.
      const made = await outputOf(client, "file_write", { path: "new.txt", content: "n" });
      expect(made).not.toHaveProperty("kept");
      const history = await client.call("file_history", { root: "p" });
      expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, reason });
      expect(textOf(history.result, 1)).toContain('Root "p" keeps no history: the');
      expect(await codeOf(client, "file_undo", { last: 1 })).toBe("NOT_SUPPORTED");
      await client.process.stop();
    });
  });

  const nothingTrashed: readonly (readonly [string, (folder: string) => void])[] = [
    ["its own folder is a link", (folder) => symlinkSync("../elsewhere", join(folder, "p/.venue-files"))],
    [
      "its trash is a link",
      (folder) => {
        mkdirSync(join(folder, "p/.venue-files"));
        symlinkSync("../../elsewhere", join(folder, "p/.venue-files/trash"));
      },
    ],
    [
      "its trash is a link that leads nowhere",
      (folder) => {
        mkdirSync(join(folder, "p/.venue-files"));
        symlinkSync("nowhere", join(folder, "p/.venue-files/trash"));
      },
    ],
  ];

  describe("where there can be no trash", () => {
    test.each(nothingTrashed)("%s", async (_name, prepare) => {
      const folder = makeProject();
      mkdirSync(join(folder, "elsewhere"), { mode: 0o700 });
      prepare(folder);
      const client = await startRaw(["--tools", "full", join(folder, "p")]);
      expect(client.process.stderr()).toMatch(/Warning: Root 'p' does not keep what is deleted/);
      const unkept = { kept: false, reason: "no_trash" };
      expect(await rootsOf(client)).toEqual([expect.objectContaining(unkept)]);
      const deleted = { trashed: false, reason: "no_trash" };
      expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject(deleted);
      expect(await outputOf(client, "file_delete", { path: "d", recursive: true })).toMatchObject(deleted);
      expect(await outputOf(client, "file_write", { path: "large.txt", content: "" })).toMatchObject(unkept);
      // The journal itself keeps small files.
      expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).not.toHaveProperty("kept");
      const { result } = await client.call("file_history", { root: "p", limit: 1 });
      const [{ id }] = JSON.parse(textOf(result)) as [{ id: string }];
      const before = await client.call("file_read", { root: "p", path: "b.txt", version: `${id}:before` });
      expect(textOf(before.result)).toBe("two\n");
      expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
      await client.process.stop();
    });
  });

  test("what is kept as it should be says nothing", async () => {
    const folder = makeProject();
    const client = await startRaw(["--tools", "full", join(folder, "p")]);
    expect(client.process.stderr()).not.toContain("Warning");
    expect(JSON.stringify(await rootsOf(client))).not.toMatch(/kept\\?"/);
    expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).not.toHaveProperty("kept");
    expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
    await client.process.stop();
  });

  describe("a state directory that is lost while it runs", () => {
    test("is made again, and what was deleted since can be taken back", async () => {
      const folder = makeProject();
      const state = join(folder, "state");
      const client = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
      expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
      rmSync(state, { recursive: true });
      const gone = await outputOf(client, "file_delete", { path: "b.txt" });
      expect(gone).toMatchObject({ trashed: true });
      const history = await client.call("file_history", { root: "p" });
      expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, reason: "damaged" });
      expect(await codeOf(client, "file_undo", { id: gone["id"] })).toBeUndefined();
      expect(existsSync(join(folder, "p/b.txt"))).toBe(true);
      await client.process.stop();
      const next = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
      expect(await codeOf(next, "file_undo", { last: 1, via: "*" })).toBe("NOT_FOUND");
      await next.process.stop();
    });

    test("and cannot be made again: each answer says so", async () => {
      const folder = makeProject();
      const state = join(folder, "above/state");
      const client = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
      expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
      rmSync(join(folder, "above"), { recursive: true });
      symlinkSync("file", join(folder, "above"));
      const lost = { reason: "no_state_dir" };
      expect(await rootsOf(client)).toEqual([expect.objectContaining(lost)]);
      expect(await outputOf(client, "file_delete", { path: "b.txt" })).toMatchObject({ trashed: false, ...lost });
      expect(await outputOf(client, "file_write", { path: "n.txt", content: "" })).toMatchObject({
        kept: false,
        ...lost,
      });
      const history = await client.call("file_history", { root: "p" });
      expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, ...lost });
      await client.process.stop();
    });
  });
});
