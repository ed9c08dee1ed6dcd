import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useBed } from "../everruns/bed.js";

const COUNT = 200;
/** Large enough that a write takes several system calls. */
const LENGTH = 70_000;

describe.each(["host", "drive"] as const)("readers among writers on a %s root", (kind) => {
  const bed = useBed({ kind, binding: { profile: "jettson" } });

  test(`${COUNT} of each see whole contents only, and nothing temporary`, async () => {
    const contents = Array.from({ length: COUNT }, (_, index) =>
      String.fromCharCode(0x4e00 + index).repeat(LENGTH / 3),
    );
    const whole = new Set(contents);
    await bed.call("jettson_files_write", { path: "d/f", content: contents[0] });
    const seen = new Set<string>();
    const read = async () => {
      const { content, size_bytes } = await bed.call("jettson_files_read", { path: "d/f" });
      expect([whole.has(String(content)), size_bytes]).toEqual([true, Math.floor(LENGTH / 3) * 3]);
      seen.add(String(content));
    };
    const list = async () => {
      const { entries } = await bed.call("jettson_files_list", { path: "d" });
      expect((entries as { name: string }[]).map(({ name }) => name)).toEqual(["f"]);
    };
    const write = (content: string) => bed.call("jettson_files_write", { path: "d/f", content });
    await Promise.all(
      contents.flatMap((content, index) => [write(content), read(), ...(index % 20 === 0 ? [list()] : [])]),
    );
    await read();
    expect(seen.size).toBeGreaterThan(0);
    if (kind === "host") expect(readdirSync(join(bed.dir, "d"))).toEqual(["f"]);
  });
});
