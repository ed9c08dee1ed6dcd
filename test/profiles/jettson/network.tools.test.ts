import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect } from "@jest/globals";
import { networkTools } from "../../../src/sandbox/bwrap/user-network.js";
import { needs } from "../../needs.js";
import { ADDRESS, noMachine, serveInMachine } from "../../sandbox/bwrap/network.js";
import { bwrapHere } from "../../sandbox/ground.js";

const { possible, reason } = await bwrapHere();
const refusal = possible ? noMachine() : reason;
const hasTool = networkTools().length > 0;

describe("pip3 install, as on Jettson's page", () => {
  const hasPip = existsSync("/usr/bin/pip3") && existsSync("/usr/bin/python3");
  const lacks = refusal ?? (hasPip ? "neither pasta nor slirp4netns is installed" : "there is no /usr/bin/pip3");
  needs(refusal === undefined && hasPip && hasTool, lacks)(
    "installs from an index, and what it installed is there",
    async () => {
      const wheel = "tiny_thing-1.0-py3-none-any.whl";
      const index = `<!DOCTYPE html><a href="/${wheel}">${wheel}</a>`;
      const served = {
        "/simple/tiny-thing/": { type: "text/html", content: index },
        [`/${wheel}`]: { type: "application/octet-stream", content: makeWheel(wheel) },
      };
      const install = `export PIP_INDEX_URL=http://$WEB/simple PIP_TRUSTED_HOST=${ADDRESS}\npip3 install tiny-thing`;
      const commands = {
        install,
        use: "tiny; python3 -c 'import tiny_thing; print(tiny_thing.x, tiny_thing.__file__)'",
      };
      const { ran } = await serveInMachine({ files: served, commands });
      expect(ran["install"]).toMatchObject({ exit_code: 0, stdout: expect.stringContaining("tiny-thing-1.0") });
      const { stdout, exit_code } = ran["use"] ?? {};
      expect([exit_code, stdout]).toEqual([0, expect.stringMatching(/^42\n42 \/workspace\/\.local\/lib\//)]);
    },
  );
});

describe("Jettson's data-processing sample", () => {
  const hasCurl = existsSync("/usr/bin/curl");
  needs(refusal === undefined && hasCurl && hasTool, refusal ?? "there is no /usr/bin/curl, or nothing for a network")(
    "runs as it stands on its page",
    async () => {
      const csv = ["id,name,email", ...Array.from({ length: 200 }, (_, id) => `${id},n${id},n${id}@acme.io`)].join(
        "\n",
      );
      const served = { "/data.csv": { type: "text/csv", content: `${csv}\n` } };
      const sample = "curl -sS http://$WEB/data.csv | head -100 > data.csv && wc -l data.csv";
      const { ran } = await serveInMachine({ files: served, commands: { sample, see: "tail -n 1 data.csv" } });
      expect(ran["sample"]).toMatchObject({ stdout: "100 data.csv\n", exit_code: 0 });
      expect(ran["see"]).toMatchObject({ stdout: "98,n98,n98@acme.io\n" });
    },
  );
});

function makeWheel(name: string): Uint8Array {
  const script = `
import io, sys, zipfile
out = io.BytesIO()
info = "tiny_thing-1.0.dist-info/"
with zipfile.ZipFile(out, "w") as z:
    z.writestr("tiny_thing.py", "x = 42\\ndef main(): print(x)\\n")
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny-thing\\nVersion: 1.0\\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr(info + "entry_points.txt", "[console_scripts]\\ntiny = tiny_thing:main\\n")
    z.writestr(info + "RECORD", "")
sys.stdout.buffer.write(out.getvalue())`;
  const { stdout, status } = spawnSync("/usr/bin/python3", ["-c", script]);
  if (status !== 0) throw new Error(`${name} cannot be made`);
  return stdout;
}
