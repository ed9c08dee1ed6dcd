#!/usr/bin/env node
// The venue over HTTP: small calls beside the bare framework, start, memory, and many callers of slow calls and large answers.
import { runBench } from "./harness.mjs";
import { callParts } from "./venue/calls.mjs";
import { crowdPart } from "./venue/crowd.mjs";
import { floodParts } from "./venue/flood.mjs";
import { memoryParts } from "./venue/memory.mjs";
import { tokensPart } from "./venue/tokens.mjs";

await runBench([...callParts, tokensPart, crowdPart, ...floodParts, ...memoryParts]);
