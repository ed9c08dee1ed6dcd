// What the compose file, the Dockerfile and the documentation say of the container is the same, and it is what is tested.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const dockerfile = read("Dockerfile");
const { services, volumes } = parse(read("deploy/compose.yaml"));
const service = services["venue-files"];

/** Options of the `docker run` in a text, those that may be repeated as lists. */
function optionsIn(text: string): Readonly<Record<string, readonly string[]>> {
  const [, line = ""] = /docker run ((?:.*\\\n)*.*)/.exec(text) ?? [];
  const words = line
    .replace(/\\\n#?/g, " ")
    .trim()
    .split(/\s+/);
  const found: Record<string, string[]> = {};
  for (const [at, name] of words.entries()) {
    if (!name.startsWith("-")) continue;
    const value = name === "--read-only" ? [] : words.slice(at + 1, at + 2);
    found[name] = [...(found[name] ?? []), ...value];
  }
  return found;
}

const OPTIONS = {
  "--read-only": [],
  "--cap-drop": ["ALL"],
  "--security-opt": ["no-new-privileges"],
  "--tmpfs": ["/tmp"],
  "--stop-timeout": ["15"],
  "-p": ["127.0.0.1:8080:8080"],
  "-v": ["./venue.json5:/etc/venue-files/venue.json5:ro", "./files:/data", "state:/var/lib/venue-files"],
};

test.each([
  ["the Dockerfile", dockerfile],
  ["docs/operating.md", read("docs/operating.md")],
])("%s runs it read-only, without capabilities, on loopback", (_name, text) => {
  expect(optionsIn(text)).toEqual(OPTIONS);
});

describe("the compose file", () => {
  test("says the same as `docker run`", () => {
    expect(service).toEqual({
      build: "..",
      image: "venue-files",
      restart: "unless-stopped",
      stop_grace_period: `${OPTIONS["--stop-timeout"]}s`,
      read_only: true,
      cap_drop: OPTIONS["--cap-drop"],
      security_opt: ["no-new-privileges:true"],
      tmpfs: OPTIONS["--tmpfs"],
      ports: OPTIONS["-p"],
      volumes: OPTIONS["-v"],
    });
  });

  test("mounts what the image writes, and where its command looks for the configuration", () => {
    const places = service.volumes.map((volume: string) => volume.split(":")[1]);
    const [, written = "[]"] = /^VOLUME (\[.*\])$/m.exec(dockerfile) ?? [];
    const [, command = "[]"] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    expect(places).toEqual([JSON.parse(command).at(-1), ...JSON.parse(written)]);
    expect(Object.keys(volumes)).toEqual(["state"]);
    expect(dockerfile).toMatch(/^EXPOSE 8080$/m);
  });
});
