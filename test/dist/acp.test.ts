import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, startNode } from "../cli/process.js";
import { bwrapHere } from "../sandbox/ground.js";

afterAll(cleanUp);

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

describe("venue-files/acp, built, under plain Node", () => {
  test("exports what its documentation names", async () => {
    const text = `import * as acp from "venue-files/acp"; console.log(JSON.stringify(Object.keys(acp)));`;
    const { stdout, stderr } = await startNode(["--input-type=module", "--eval", text], { cwd: PACKAGE }).ended;
    expect({ stdout, stderr }).toEqual({ stdout: '["AcpClientFs"]\n', stderr: "" });
  });

  test("serves the example agent, as the example host shows", async () => {
    const { possible } = await bwrapHere();
    // Commands run as nobody in particular, who must be able to get there.
    const tmp = makeFolder();
    chmodSync(tmp, 0o755);
    const { status, stdout, stderr } = await startNode([join(PACKAGE, "examples/acp-host.mjs")], { tmp }).ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("Agent: The first line is: As it is in the editor.\n");
    expect(stdout).toContain(" As it is in the editor.\n+Seen by an agent.\n");
    expect(stdout).toMatch(possible ? /Agent: wc says, with status 0: 2 / : /Agent: There is no terminal here\.\n/);
    expect(stdout).toContain("Agent: /etc/passwd: -32602 outside_roots\n");
    expect(stdout).toContain('On disk: "As it is in the editor.\\nSeen by an agent.\\n"\n');
    expect(stdout).toContain('After undo: "As it is on disk.\\n"\n');
  });

  test("is the example of its documentation", () => {
    expect(readFileSync(join(PACKAGE, "docs/acp.md"), "utf8")).toContain("examples/acp-host.mjs");
  });
});
