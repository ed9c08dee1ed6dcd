#!/usr/bin/env node
import { runBench } from "./harness.mjs";
// What the journal costs: changes of a host root with it beside the same without, in turns of one run; undo, patches, trees,
// long histories, the log of drives, and watching.
import { changeParts } from "./history/changes.mjs";
import { openHome } from "./history/home.mjs";
import { longParts } from "./history/long.mjs";
import { watchParts } from "./history/watch.mjs";

const home = await openHome();
await runBench([...changeParts(home), ...longParts(home), ...watchParts(home)]);
