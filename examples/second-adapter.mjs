// A venue with an adapter of its own beside the files. Run: node examples/second-adapter.mjs
import { createVenue, FileAdapterError } from "venue-files";

const dice = {
  name: "dice",
  description: "Rolls dice.",
  operations: [
    {
      name: "dice:roll",
      description: "Rolls one die and returns the number of points.",
      input: { type: "object", properties: { sides: { type: "integer", minimum: 2, maximum: 1000 } } },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    },
  ],
  async invoke(_operation, { sides = 6 }, { callerDID }) {
    if (sides % 2 !== 0) throw new FileAdapterError("INVALID_INPUT", "'sides' must be even", { pointer: "/sides" });
    return { points: 1 + Math.floor(Math.random() * sides), caller: callerDID };
  },
};

const venue = await createVenue({ port: Number(process.argv[2] ?? 8080) }, { env: process.env });
venue.register(dice);
const { url } = await venue.listen();
console.log(`curl -s ${url}/api/v1/invoke -H 'Content-Type: application/json' -d '{"operation":"v/ops/dice/roll"}'`);
process.once("SIGINT", () => venue.close());
