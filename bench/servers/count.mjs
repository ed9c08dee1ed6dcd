// Loaded before a program (`--import`): counts what one stretch of its work enters, by V8's precise coverage.
// With VENUE_FILES_HOPS the whole life of the process is counted, into that file; otherwise from the message "start" to "take".
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";

const session = new Session();
session.connect();
// Answers of the profiler come before `post` returns.
function ask(method, params) {
  let answer;
  session.post(method, params, (error, result) => {
    if (error) throw new Error(error.message);
    answer = result;
  });
  return answer;
}

const start = () => ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

function take() {
  const { result } = ask("Profiler.takePreciseCoverage");
  ask("Profiler.stopPreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    if (!url.includes("/dist/") || url.includes("/node_modules/")) return [];
    // A module that is only loaded enters no function but itself.
    const entered = functions.filter(({ ranges: [{ startOffset, count }] }) => count > 0 && startOffset > 0);
    if (entered.length === 0) return [];
    const calls = entered.reduce((sum, { ranges: [{ count }] }) => sum + count, 0);
    return [{ file: url.split("/dist/")[1], functions: entered.length, calls }];
  });
}

ask("Profiler.enable");
const whole = process.env.VENUE_FILES_HOPS;
if (whole !== undefined) {
  start();
  process.on("exit", () => writeFileSync(whole, JSON.stringify(take())));
} else {
  process.on("message", (message) => {
    if (message === "start") start();
    process.send(message === "take" ? take() : []);
  });
  process.channel.unref();
}
