// Follows the events of a venue by many streams, in a process of its own, as the clients of a venue are. Each message is answered with
// the number of events that the stream with the fewest has had; the first answer comes once all streams are open.
import { get } from "node:http";

const [url, count] = process.argv.slice(2);
const seen = Array.from({ length: Number(count) }, () => 0);

const follow = (_, index) =>
  new Promise((resolve) => {
    get(`${url}/api/v1/events?topic=files:docs`, (answer) => {
      let rest = "";
      answer.setEncoding("latin1");
      answer.on("data", (chunk) => {
        const text = rest + chunk;
        seen[index] += text.split("\ndata: ").length - 1;
        rest = text.slice(text.lastIndexOf("\n"));
      });
      resolve();
    });
  });

const opened = Promise.all(seen.map(follow));
process.on("message", () => opened.then(() => process.send(Math.min(...seen))));
