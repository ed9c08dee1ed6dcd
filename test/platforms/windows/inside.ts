// Asks the surfaces that a Windows program can reach: the library, MCP over standard input and output, the command line.
import { mkdirSync, writeFileSync } from "node:fs";
import { CALLS, NARROWED_CALLS, type ParityCall } from "../../parity/calls.js";
import { makeGround } from "../../parity/fixture.js";
import { commandLine, library, mcp, type Surface } from "../../parity/surfaces.js";
import { makeLink } from "./link-files.js";
import { cleanUp } from "./process.js";
import { Report } from "./report.js";

const report = new Report((line) => process.stdout.write(`${line}\n`));

const SPECIALS = { link: makeLink, pipe: () => {} };

/** Answers of a surface, for the comparison with what Linux answers. */
async function ask(name: string, surface: Surface, calls: readonly ParityCall[], narrowed: boolean): Promise<void> {
  const ground = makeGround(SPECIALS);
  const outcomes = await surface(ground, calls, narrowed);
  mkdirSync("D:\\answers", { recursive: true });
  writeFileSync(`D:\\answers\\${name}-${narrowed}-${process.version}.json`, JSON.stringify({ ground, outcomes }));
}

for (const [name, surface] of Object.entries({ library, mcp, commandLine })) {
  await report.check(`${name} answers`, async () => {
    await ask(name, surface, CALLS, false);
    await ask(name, surface, NARROWED_CALLS, true);
  });
}
await cleanUp();
process.stdout.write(`${report.summary}\n`, () => process.exit(0));
