import { afterEach, expect, jest, test } from "@jest/globals";
import { ProcHandles } from "../../../../src/jail/handles.js";
import { HeldFolders } from "../../../../src/jail/staging/folder.js";
import { useGround } from "../../../ops/ground.js";

const ground = useGround({ journal: true });
afterEach(() => {
  jest.restoreAllMocks();
});

/** Uses of the folder of the trash that have not ended. */
function countUses(): () => number {
  let open = 0;
  const real = HeldFolders.prototype.use;
  jest.spyOn(HeldFolders.prototype, "use").mockImplementation(function* (this: HeldFolders, ...given) {
    const use = yield* real.apply(this, given);
    if (use === undefined) return undefined;
    open++;
    return {
      ...use,
      release() {
        open--;
        use.release();
      },
    };
  });
  return () => open;
}

test.each(["EACCES", "EMFILE", "EIO"])("a deletion of a group that fails by %s lets go of the trash", async (code) => {
  ground.put("a", "1");
  ground.put("b", "2");
  const open = countUses();
  const pin = ProcHandles.prototype.pin;
  let failures = 0;
  jest.spyOn(ProcHandles.prototype, "pin").mockImplementation(function* (this: ProcHandles, ...given) {
    if (String(given[1]).length > 40 && failures++ === 0)
      throw Object.assign(new Error(code), { code, syscall: "open" });
    return yield* pin.apply(this, given);
  });
  const changes = ["a", "b"].map((path) => ({ op: "delete", path }) as const);
  await expect(ground.run("patch", { changes })).rejects.toThrow();
  expect([ground.get("a").toString(), ground.get("b").toString(), failures > 0, open()]).toEqual(["1", "2", true, 0]);
});
