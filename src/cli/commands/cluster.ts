// The commands on venues with several instances.

import { command } from "./command.js";
import { CONFIG, JSON_OUT } from "./shared.js";

const init = command({
  usage: "cluster init --config FILE",
  text: `Creates the tables of what the instances of a venue share, in the database and schema of 'shared.postgres', or what is
missing of them. 'serve' creates none. Run it once, and again before the first instance of a newer version.`,
  options: { config: { ...CONFIG, required: true } },
  example: "venue-files cluster init --config venue.json5",
  exits:
    "0 done, 64 usage, 66 file not readable, 69 the database is not reached,\n78 invalid configuration, or another venue's",
  locates: true,
  async run({ values: { config } }, context) {
    return (await import("../cluster/cluster.js")).clusterInit(config, context);
  },
});

const status = command({
  usage: "cluster status --config FILE [--json]",
  text: `Lists the instances of a venue in the last day: number, address, version, whether it is alive, and digests of the static
tokens, grants and roots of its configuration, which should be the same everywhere.`,
  options: { config: { ...CONFIG, required: true }, json: JSON_OUT },
  example: "venue-files cluster status --config venue.json5",
  exits:
    "0 all alike, 1 live instances differ, 64 usage, 66 file not readable, 69 the database is not reached,\n78 invalid configuration",
  locates: true,
  async run({ values: { config, json } }, context) {
    return (await import("../cluster/cluster.js")).clusterStatus({ file: config, json }, context);
  },
});

export const CLUSTER = { "cluster init": init, "cluster status": status };
