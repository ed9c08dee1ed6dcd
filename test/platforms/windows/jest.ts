// Stands in for "@jest/globals" where Jest does not run: what the suites here use of it, with Jest's own `expect` and mocks.
import { format } from "node:util";
import { expect } from "expect";
import { ModuleMocker } from "jest-mock";
import type { Report } from "./report.js";

export { expect };

const mocker = new ModuleMocker(globalThis as never);
const refuse = (): never => {
  throw new Error("the clock of Jest is not here");
};

export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  setTimeout: () => {},
  useFakeTimers: refuse,
  useRealTimers: () => {},
};

type Work = () => unknown;

/** What `describe` holds, and a file as a whole. */
interface Group {
  readonly name: string;
  readonly hooks: Record<"beforeAll" | "beforeEach" | "afterEach" | "afterAll", Work[]>;
  readonly members: (Group | Case)[];
}

interface Case {
  readonly name: string;
  readonly work: Work | "skipped";
}

const TEST_MS = 240_000;

const newGroup = (name: string): Group => ({
  name,
  hooks: { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] },
  members: [],
});

let current = newGroup("");

const hook = (name: keyof Group["hooks"]) => (work: Work) => void current.hooks[name].push(work);
export const beforeAll = hook("beforeAll");
export const beforeEach = hook("beforeEach");
export const afterEach = hook("afterEach");
export const afterAll = hook("afterAll");

function group(name: string, work: Work): void {
  const outer = current;
  current = newGroup(name);
  outer.members.push(current);
  work();
  current = outer;
}

const one = (name: string, work: Work) => void current.members.push({ name, work });
const skipped = (name: string) => void current.members.push({ name, work: "skipped" });

/** The name of a row, with its values as Jest puts them in. */
function nameOfRow(name: string, row: unknown, values: readonly unknown[]): string {
  const filled = name.replaceAll(/\$(\w+)/g, (text, key: string) =>
    typeof row === "object" && row !== null && key in row ? format((row as Record<string, unknown>)[key]) : text,
  );
  const wanted = filled.replaceAll("%%", "").match(/%[sdifjoOp]/g)?.length ?? 0;
  return format(filled.replaceAll("%p", "%o"), ...values.slice(0, wanted));
}

const each = (add: (name: string, work: Work) => void) => (rows: readonly unknown[]) => {
  return (name: string, work: (...values: unknown[]) => unknown) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      add(nameOfRow(name, row, values), () => work(...values));
    }
  };
};

const skip = Object.assign(skipped, { each: each(skipped) });
export const test = Object.assign(one, { each: each(one), skip });
export const describe = Object.assign(group, {
  each: each(group),
  skip: Object.assign(() => {}, { each: () => () => {} }),
});

/** Tells why a test is left out; `undefined` if it is not. */
export type LeaveOut = (name: string) => string | undefined;

/** Runs what `load` registers. */
export async function runSuite(name: string, load: Work, { report, leaveOut }: { report: Report; leaveOut: LeaveOut }) {
  current = newGroup(name);
  const suite = current;
  const broken = await errorOf([load]);
  if (broken !== undefined) return report.check(`${name} loads`, () => Promise.reject(broken));
  await runGroup(suite, { report, leaveOut, above: [], path: name });
}

interface Around {
  readonly report: Report;
  readonly leaveOut: LeaveOut;
  /** From the file down to the group. */
  readonly above: readonly Group[];
  readonly path: string;
}

async function runGroup(group: Group, around: Around): Promise<void> {
  const { report, leaveOut, above, path } = around;
  const groups = [...above, group];
  const nameOf = (member: Group | Case) => `${path} › ${member.name}`;
  const reasonOf = (member: Case) =>
    member.work === "skipped" ? "the suite says so itself" : leaveOut(nameOf(member));
  const isRun = (member: Group | Case, at: string): boolean =>
    "members" in member
      ? member.members.some((one) => isRun(one, `${at} › ${member.name}`))
      : member.work !== "skipped" && leaveOut(`${at} › ${member.name}`) === undefined;
  const needsHooks = group.members.some((member) => isRun(member, path));
  const broken = needsHooks ? await errorOf(group.hooks.beforeAll) : undefined;
  for (const member of group.members) {
    const name = nameOf(member);
    if ("members" in member) {
      await runGroup(member, { ...around, above: groups, path: name });
      continue;
    }
    const reason = reasonOf(member);
    if (reason !== undefined) report.skip(name, reason);
    else await report.check(name, () => inTime(() => (broken ? Promise.reject(broken) : runCase(member, groups))));
  }
  const left = needsHooks ? await errorOf(group.hooks.afterAll) : undefined;
  if (left !== undefined) await report.check(`${path} › afterAll`, () => Promise.reject(left));
}

async function errorOf(works: readonly Work[]): Promise<unknown> {
  try {
    await inTurn(works);
    return undefined;
  } catch (error) {
    return error;
  }
}

async function inTurn(works: readonly Work[]): Promise<void> {
  for (const work of works) await work();
}

async function runCase({ work }: Case, groups: readonly Group[]): Promise<void> {
  try {
    await inTurn(groups.flatMap(({ hooks }) => hooks.beforeEach));
    if (work !== "skipped") await work();
  } finally {
    await inTurn(groups.toReversed().flatMap(({ hooks }) => hooks.afterEach));
  }
}

async function inTime(work: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${TEST_MS} ms`)), TEST_MS);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
