import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { FileOutputs } from "../../../../src/schema/types.js";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import { useGround } from "../../../ops/ground.js";
import { connect2 } from "./versions.js";

const ground = useGround({ journal: true });
const at = (path: string): string => join(ground.dir, path);

test("what tools have changed is undone by the entries of the session, trees too", async () => {
  ground.put("file", "text\n");
  ground.put("dir/x", "x");
  const acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }] });
  const agent = await connect2(acp);
  const session = await agent.connection.newSession({ cwd: ground.dir });
  const calls: readonly [string, object][] = [
    ["file_write", { path: "new/deep", content: "new", parents: true }],
    ["file_edit", { path: "file", oldText: "text", newText: "edited" }],
    ["file_append", { path: "file", content: "more\n" }],
    ["file_mkdir", { path: "made" }],
    ["file_copy", { path: "file", to: "new/deep", overwrite: true }],
    ["file_move", { path: "dir", to: "made/dir" }],
    ["file_move", { path: "file", to: "made/file" }],
    ["file_delete", { path: "made", recursive: true }],
  ];
  for (const [name, args] of calls) expect(await agent.call(session, name, args)).toMatchObject({ isError: false });
  const { entries }: FileOutputs["file:history"] = await ground.run("history", { via: session });
  expect(entries.map(({ op, surface }) => `${surface} ${op}`).reverse()).toEqual(
    ["write", "edit", "append", "mkdir", "copy", "move", "move", "delete"].map((op) => `acp ${op}`),
  );
  expect(ground.names("")).toEqual(["new"]);
  const undone: (string | undefined)[] = [];
  for (const _ of calls) undone.push(await acp.undo(session));
  expect(undone).toEqual(["made", "made/file", "made/dir", "new/deep", "made", "file", "file", "new/deep"].map(at));
  expect(ground.names("")).toEqual(["dir", "file"]);
  expect([ground.get("file").toString(), ground.get("dir/x").toString()]).toEqual(["text\n", "x"]);
  expect(acp.modified(session)).toEqual([]);
  for (const _ of calls) expect(await acp.redo(session)).toEqual(expect.any(String));
  expect(ground.names("")).toEqual(["new"]);
  expect(ground.get("new/deep").toString()).toBe("edited\nmore\n");
  await agent.stop();
});
