import { describe, expect, test } from "@jest/globals";
import { zipOf } from "../../backend/archive/zip-bytes.js";
import { useGround } from "../ground.js";

const ground = useGround();

const putZip = () =>
  ground.put(
    "a/x.zip",
    zipOf([
      { name: "docs/b.md", content: "# B\nline 2\n" },
      { name: "c.txt", content: "see", method: 0 },
    ]),
  );

describe("operations that look", () => {
  test("list and read what lies in a zip", async () => {
    putZip();
    expect((await ground.run("list", { path: "a/x.zip!" })).entries).toMatchObject([
      { name: "c.txt", type: "file", size: 3 },
      { name: "docs", type: "directory", size: 0 },
    ]);
    expect(await ground.run("read", { path: "a/x.zip!/docs/b.md" })).toMatchObject({
      content: "# B\nline 2\n",
      size: 11,
    });
    expect(await ground.run("read", { path: "a/x.zip!/c.txt" })).toMatchObject({ content: "see" });
  });
});
