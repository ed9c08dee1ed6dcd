// Clients that generators of others make from our document: compiled, and used as their docs say.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "@jest/globals";
import { build } from "esbuild";
import { cleanUp, makeFolder, serve } from "../../../cli/process.js";
import { describeWhere } from "../../../needs.js";

const execute = promisify(execFile);
const GENERATORS = process.env["VENUE_FILES_GENERATORS"] ?? "";
const has = (kind: string): boolean => GENERATORS !== "" && existsSync(join(GENERATORS, kind, "complete"));
const missing = (what: string): string =>
  `${what}: they are given in VENUE_FILES_GENERATORS by npm run test:tools, where the registry can be reached`;
const TSC = join(process.cwd(), "node_modules/typescript/bin/tsc");

/** Every byte, and the path of each file. */
const BYTES = Uint8Array.from({ length: 256 }, (_, index) => index);
const PATHS = ["a b/ü.txt", "x#1/50% & ä?/sub/c+d.bin"];

afterAll(cleanUp);

/** A venue with all that a document can describe, its document in a file, and an empty root `work`. */
async function open() {
  const root = makeFolder();
  const config = makeFolder({
    "config.json5": JSON.stringify({
      file: { roots: { work: { path: root }, tmp: { temp: true } } },
      auth: { public: { enabled: true } },
      workspace: true,
      profiles: {
        session: { profile: "everruns", root: "tmp", prefix: "s" },
        node: { profile: "jettson", root: "tmp", prefix: "n", shell: { driver: "just-bash" } },
      },
    }),
  });
  const venue = await serve(["--config", join(config, "config.json5")]);
  const [, tokenFile = ""] = /The token in (\S+) acts/.exec(venue.stdout()) ?? [];
  const token = readFileSync(tokenFile, "utf8").trim();
  const folder = makeFolder();
  const document = join(folder, "openapi.json");
  writeFileSync(document, await (await fetch(`${venue.url}/openapi.json`)).text());
  return { root, folder, document, env: { URL: venue.url, TOKEN: token, PATHS: JSON.stringify(PATHS) } };
}

type Open = Awaited<ReturnType<typeof open>>;

/** What each client says: of each path the bytes that came back, and what its folder has before and after it is deleted. */
const EXPECTED = PATHS.map((path) => ({ got: [...BYTES], before: [path.split("/").at(-1)], after: [] }));

/** Type-checks and bundles a program that uses what was generated, and runs it. */
async function runProgram({ folder, root, env }: Open, source: string): Promise<unknown> {
  writeFileSync(join(folder, "main.ts"), source);
  const lib = ["es2022", "dom", "dom.iterable"];
  const bundled = { target: "es2022", module: "esnext", moduleResolution: "bundler", lib, skipLibCheck: true };
  const options = { compilerOptions: { ...bundled, strict: true, noEmit: true }, files: ["main.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
  await execute(process.execPath, [TSC, "-p", folder]).catch(({ stdout }) => {
    throw new Error(stdout);
  });
  const outfile = join(folder, "main.mjs");
  await build({ entryPoints: [join(folder, "main.ts")], bundle: true, platform: "node", format: "esm", outfile });
  const { stdout } = await execute(process.execPath, [outfile], { env: { ...process.env, ...env } });
  for (const path of PATHS) expect(existsSync(join(root, path))).toBe(false);
  return JSON.parse(stdout);
}

const PRELUDE = `
  declare const process: { env: Record<string, string | undefined>; stdout: { write(text: string): void } };
  const { URL: baseUrl = "", TOKEN: token = "", PATHS = "[]" } = process.env;
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const results: object[] = [];
  const namesIn = (output: unknown): unknown[] => (output as { entries: { name: string }[] }).entries.map(({ name }) => name);
`;

describeWhere(has("js"), missing("generators of npm"))("a client in TypeScript", () => {
  const tool = (name: string): string => join(GENERATORS, "js/node_modules", name);

  test("by @hey-api/openapi-ts puts, gets, lists and deletes", async () => {
    const venue = await open();
    const output = join(venue.folder, "client");
    const generator = [tool("@hey-api/openapi-ts/bin/run.js"), "-i", venue.document, "-o", output];
    await execute(process.execPath, [...generator, "-c", "@hey-api/client-fetch"], { cwd: venue.folder });
    const said = await runProgram(
      venue,
      `import { client } from "./client/client.gen";
       import { getFile, invoke, putFile, run } from "./client/sdk.gen";
       ${PRELUDE}
       client.setConfig({ baseUrl, auth: token, throwOnError: true });
       for (const path of JSON.parse(PATHS)) {
         const place = { root: "work", path };
         const folder = path.slice(0, path.lastIndexOf("/"));
         await putFile({ path: place, query: { parents: true }, body: new Blob([bytes]) });
         const { data } = await getFile({ path: place, parseAs: "blob" });
         const list = () => run({ body: { operation: "v/ops/file/list", input: { root: "work", path: folder } } });
         const before = namesIn((await list()).data);
         const job = await invoke({ body: { operation: "v/ops/file/delete", input: place } });
         if (job.data?.status !== "COMPLETE") throw new Error(JSON.stringify(job));
         const got = data instanceof Blob ? [...new Uint8Array(await data.arrayBuffer())] : [];
         results.push({ got, before, after: namesIn((await list()).data) });
       }
       process.stdout.write(JSON.stringify(results));`,
    );
    expect(said).toEqual(EXPECTED);
  });

  test("by openapi-typescript and openapi-fetch puts, gets, lists and deletes", async () => {
    const venue = await open();
    const types = join(venue.folder, "types.d.ts");
    await execute(process.execPath, [tool("openapi-typescript/bin/cli.js"), venue.document, "-o", types]);
    symlinkSync(tool(""), join(venue.folder, "node_modules"));
    const said = await runProgram(
      venue,
      `import createClient from "openapi-fetch";
       import type { paths } from "./types";
       ${PRELUDE}
       const headers = { authorization: "Bearer " + token };
       const { GET, PUT, POST } = createClient<paths>({ baseUrl, headers });
       const file = "/api/v1/files/{root}/{path}";
       for (const path of JSON.parse(PATHS)) {
         const place = { root: "work", path };
         const folder = path.slice(0, path.lastIndexOf("/"));
         const { response } = await PUT(file, {
           params: { path: place, query: { parents: true } },
           headers: { "content-type": "application/octet-stream" },
           body: "", bodySerializer: () => new Blob([bytes]),
         });
         if (response.status !== 201) throw new Error(String(response.status));
         const { data } = await GET(file, { params: { path: place }, parseAs: "arrayBuffer" });
         const list = () => POST("/api/v1/run", { body: { operation: "v/ops/file/list", input: { root: "work", path: folder } } });
         const before = namesIn((await list()).data);
         const job = await POST("/api/v1/invoke", { body: { operation: "v/ops/file/delete", input: place } });
         if (job.data?.status !== "COMPLETE") throw new Error(JSON.stringify(job));
         results.push({ got: [...new Uint8Array(data as ArrayBuffer)], before, after: namesIn((await list()).data) });
       }
       process.stdout.write(JSON.stringify(results));`,
    );
    expect(said).toEqual(EXPECTED);
  });
});

describeWhere(has("py"), missing("openapi-python-client"))("a client in Python", () => {
  const python = join(GENERATORS, "py/bin/python");

  test("lacks nothing, and puts, gets, lists and deletes", async () => {
    const venue = await open();
    const { folder, document, root } = venue;
    writeFileSync(join(folder, "config.yaml"), "post_hooks: []\n");
    const generator = ["generate", "--path", document, "--config", "config.yaml", "--output-path", "client"];
    const made = await execute(join(GENERATORS, "py/bin/openapi-python-client"), generator, { cwd: folder });
    // A warning names an endpoint or a schema that is left out.
    expect(`${made.stdout}${made.stderr}`.trim()).toBe("Generating client");
    const ids = [...readFileSync(document, "utf8").matchAll(/"operationId":"(\w+)"/g)].map(([, id = ""]) => id);
    writeFileSync(join(folder, "main.py"), PROGRAM);
    const env = { ...process.env, ...venue.env, PYTHONPATH: join(folder, "client"), IDS: JSON.stringify(ids) };
    const { stdout } = await execute(python, ["main.py"], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual({ results: EXPECTED, missing: [] });
    for (const path of PATHS) expect(existsSync(join(root, path))).toBe(false);
  });
});

const PROGRAM = `
import importlib, io, json, os, pkgutil, re
import venue_files_client as made
from venue_files_client.api.files import get_file, put_file
from venue_files_client.api.jobs import invoke, run
from venue_files_client.models import FileDelete, FileDeleteInput, FileList, FileListInput
from venue_files_client.types import File

# All of it compiles, and what it refers to is there.
modules = [module.name for module in pkgutil.walk_packages(made.__path__, "venue_files_client.")]
for module in modules: importlib.import_module(module)
snake = lambda name: re.sub("([A-Z]+)", lambda part: "_" + part.group(1).lower(), name)
missing = [name for name in json.loads(os.environ["IDS"]) if snake(name) not in [module.split(".")[-1] for module in modules]]

client = made.AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["TOKEN"], raise_on_unexpected_status=True)
results = []
for path in json.loads(os.environ["PATHS"]):
    put = put_file.sync_detailed("work", path, client=client, parents=True, body=File(payload=io.BytesIO(bytes(range(256)))))
    assert put.status_code == 201, put
    got = get_file.sync("work", path, client=client)
    listing = FileList(operation="v/ops/file/list", input_=FileListInput(root="work", path=path.rsplit("/", 1)[0]))
    names = lambda: [entry["name"] for entry in run.sync(client=client, body=listing)["entries"]]
    before = names()
    job = invoke.sync(client=client, body=FileDelete(operation="v/ops/file/delete", input_=FileDeleteInput(root="work", path=path)))
    assert job.status == "COMPLETE", job
    results.append({"got": list(got.payload.read()), "before": before, "after": names()})
print(json.dumps({"results": results, "missing": missing}))
`;
