import { beforeEach, describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const ground = useGround({ roots: { other: { temp: true } } });
const LARGE = 3_000_000;

beforeEach(() => {
  for (let n = 0; n < 5; n++) ground.put(`dir/${n}`, `needle ${n}`);
  ground.put("large", Buffer.alloc(LARGE, "x"));
});

interface Report {
  readonly done: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
}

async function reportsOf(operation: string, input: object): Promise<Report[]> {
  const reports: Report[] = [];
  const report = (done: number, total?: number, message?: () => string) =>
    void reports.push({ done, total, message: message?.() });
  await ground.adapter.invoke(`file:${operation}`, { root: "r", ...input }, { report });
  return reports;
}

describe("how far a call has come", () => {
  test.each([
    ["tree", { path: "dir" }, 5, "5 entries"],
    ["du", { path: "dir" }, 5, "5 entries, 32 B"],
    ["glob", { path: "dir", pattern: "*" }, 5, "5 entries, 4 paths"],
    ["copy", { path: "dir", to: "twin", recursive: true }, 5, "5 entries copied"],
    ["delete", { path: "dir", recursive: true }, 5, "5 entries deleted"],
  ])("is reported by the entry: %s", async (operation, input, done, message) => {
    const reports = await reportsOf(operation, input);
    expect(reports.map((report) => report.done)).toEqual([1, 2, 3, 4, 5]);
    expect(reports.at(-1)).toEqual({ done, total: undefined, message });
    expect(reports[0]?.message).toMatch(/^1 entry/);
    expect(reports.every((report) => (report.message ?? "").split(" ").length <= 10)).toBe(true);
  });

  test("is reported with the matches by grep", async () => {
    const reports = await reportsOf("grep", { path: "dir", pattern: "needle" });
    expect(reports.map(({ done }) => done)).toEqual([1, 2, 3, 4, 5]);
    expect(reports[0]?.message).toBe("1 entry, 0 matches");
  });

  test.each([
    ["hash", { path: "large" }],
    ["copy", { path: "large", toRoot: "other", to: "large" }],
  ])("is reported by the byte, with the size of the file: %s", async (operation, input) => {
    // A copy by the kernel is done at once.
    const reports = await reportsOf(operation, operation === "copy" ? { ...input, ifMatch: await etag() } : input);
    expect(reports.length).toBeGreaterThan(1);
    expect(reports.at(-1)).toEqual({ done: LARGE, total: LARGE, message: undefined });
    expect(reports.every(({ done }, index) => index === 0 || done >= (reports[index - 1]?.done ?? 0))).toBe(true);
  });

  test("is reported by the file by readMany", async () => {
    const reports = await reportsOf("readMany", { files: [{ path: "dir/0" }, { path: "none" }, { path: "dir/1" }] });
    expect(reports.map(({ done, total }) => [done, total])).toEqual([
      [0, 3],
      [1, 3],
      [2, 3],
    ]);
  });
});

const etag = async (): Promise<string> => (await ground.run("hash", { path: "large" })).etag;
