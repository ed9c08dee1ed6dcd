import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { checkOpened, foldersOfClient, realFolders, rootsForClient } from "../../../src/cli/mcp/client-roots.js";
import { parseConfig } from "../../../src/config/load.js";
import { touchesSecrets } from "../../../src/venue/start/state/secrets.js";
import { startRaw } from "../../surfaces/mcp/raw.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, type Running, start } from "../process.js";

afterAll(cleanUp);

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
