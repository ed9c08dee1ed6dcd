// Runs suites that are Jest's elsewhere, as a Windows program. Its arguments are their paths below test/, with forward slashes.
import { type LeaveOut, runSuite } from "./jest.js";
import { LEFT_OUT } from "./left-out.js";
import { Report } from "./report.js";

const report = new Report((line) => process.stdout.write(`${line}\n`));

const leaveOut: LeaveOut = (name) => LEFT_OUT.find(([pattern]) => pattern.test(name))?.[1];

for (const suite of process.argv.slice(2)) {
  const load = () => import(new URL(`${suite.replaceAll("/", "~")}.js`, import.meta.url).href) as Promise<unknown>;
  await runSuite(suite, load, { report, leaveOut });
}
process.stdout.write(`${report.summary}\n`, () => process.exit(0));
