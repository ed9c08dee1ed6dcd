#!/usr/bin/env node
// The venue over HTTP: small calls beside the bare framework, start, memory, and many callers of slow calls and large answers.
// `VENUE_FILES_BENCH_REFERENCE` may hold the command line of a reference venue, with `{config}` for the file that it reads.
import { runBench } from "./harness.mjs";
import { callParts } from "./venue/calls.mjs";
import { crowdPart } from "./venue/crowd.mjs";
import { floodParts } from "./venue/flood.mjs";
import { memoryParts } from "./venue/memory.mjs";

await runBench([...callParts, crowdPart, ...floodParts, ...memoryParts]);
