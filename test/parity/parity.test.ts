import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { CALLS, CODES, NARROWED_CALLS, type ParityCall } from "./calls.js";
import { makeGround } from "./fixture.js";
import { commandLine, http, library, mcp, type Outcome, remote, type Surface } from "./surfaces.js";

afterAll(cleanUp);

/** What a surface answers on fresh ground; times and the ground's own path are replaced by what they have in common. */
async function answersOf(surface: Surface, calls: readonly ParityCall[], narrowed: boolean): Promise<Outcome[]> {
  const ground = makeGround();
  const outcomes = await surface(ground, calls, narrowed);
  for (const [index, outcome] of outcomes.entries()) {
    if (calls[index]?.operation === "file:roots") continue;
    // Only roots may show where they are.
    expect(JSON.stringify(outcome)).not.toContain(ground.folder);
  }
  const text = JSON.stringify(outcomes)
    .replaceAll(ground.folder, "<ground>")
    .replaceAll(/"modified":\d+/g, '"modified":0')
    .replaceAll(/,"etag":"[a-z2-7]{8}"/g, "")
    // A model reads it in the note behind a list.
    .replaceAll(/,"hint":"Go on with after: \\"[^"]*\\""/g, "");
  return JSON.parse(text) as Outcome[];
}

const nameOf = ({ operation, input }: ParityCall) => `${operation} ${JSON.stringify(input).slice(0, 80)}`;

/** Tables of one row per call, so that a difference names its call. */
const labelled = (calls: readonly ParityCall[], outcomes: readonly Outcome[]) =>
  calls.map((call, index) => [nameOf(call), outcomes[index]]);

const SURFACES = { library, HTTP: http, "--url": remote, MCP: mcp, "command line": commandLine } as const;

describe.each([
  ["the operator", CALLS, false],
  ["a caller with caps", NARROWED_CALLS, true],
])("%s gets the same answers", (_who, calls, narrowed) => {
  /** Each surface has ground of its own, so that they can be asked at the same time. */
  let answers: Record<string, unknown>;
  beforeAll(async () => {
    const asked = Object.entries(SURFACES).map(async ([name, surface]): Promise<[string, unknown]> => {
      return [name, labelled(calls, await answersOf(surface, calls, narrowed))];
    });
    answers = Object.fromEntries(await Promise.all(asked));
  }, 120_000);

  test.each([
    ["over HTTP", "HTTP"],
    ["through --url", "--url"],
    ["over MCP", "MCP"],
    ["from the command line", "command line"],
  ])("%s as from the library", (_name, surface) => {
    expect(answers[surface]).toEqual(answers["library"]);
  });
});

test("the calls are many, and bring about every outcome that calls can bring about", async () => {
  expect(CALLS.length).toBeGreaterThanOrEqual(60);
  expect(new Set(CALLS.map(({ operation }) => operation)).size).toBeGreaterThanOrEqual(10);
  const outcomes = [...(await answersOf(library, CALLS, false)), ...(await answersOf(library, NARROWED_CALLS, true))];
  expect([...new Set(outcomes.map(({ code }) => code))].sort()).toEqual([...CODES].sort());
});
