// Follows the events of a venue by many streams, in a process of its own, as the clients of a venue are. A number on
// standard input asks until every stream has had so many events; the answer is the smallest number that one has had.
import { get } from "node:http";

const [url, count] = process.argv.slice(2);
const seen = Array.from({ length: Number(count) }, () => 0);
let asked = Number.POSITIVE_INFINITY;

function tell() {
  if (asked === Number.POSITIVE_INFINITY || Math.min(...seen) < asked) return;
  console.log(`heard ${Math.min(...seen)}`);
  asked = Number.POSITIVE_INFINITY;
}

const opened = seen.map(
  (_, index) =>
    new Promise((resolve) => {
      get(`${url}/api/v1/events?topic=files:docs`, (answer) => {
        let rest = "";
        answer.setEncoding("latin1");
        answer.on("data", (chunk) => {
          const text = rest + chunk;
          seen[index] += text.split("\ndata: ").length - 1;
          rest = text.slice(text.lastIndexOf("\n"));
          tell();
        });
        resolve();
      });
    }),
);
await Promise.all(opened);
console.log("open");
process.stdin.on("data", (chunk) => {
  asked = Number(chunk);
  tell();
  setTimeout(() => {
    asked = 0;
    tell();
  }, 10_000).unref();
});
process.stdin.on("end", () => process.exit());
