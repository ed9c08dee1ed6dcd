const transform = {
  "^.+\\.ts$": [
    "<rootDir>/test/transform.mjs",
    { jsc: { target: "es2023", parser: { syntax: "typescript" } }, module: { type: "es6" } },
  ],
};

// What people see has their time zone.
process.env.TZ = "UTC";

/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // What needs more than Node is named `*.tools.test.ts` (npm run test:tools); what takes long lies in test/long.
  testPathIgnorePatterns: ["/node_modules/", "<rootDir>/test/long/", "\\.tools\\.test\\.ts$"],
  extensionsToTreatAsEsm: [".ts"],
  globalSetup: "<rootDir>/test/temporary-directory.mjs",
  globalTeardown: "<rootDir>/test/temporary-directory-end.mjs",
  testEnvironment: "<rootDir>/test/environment.mjs",
  testSequencer: "<rootDir>/test/sequencer.mjs",
  setupFilesAfterEnv: ["<rootDir>/test/equality.mjs"],
  transform,
  moduleNameMapper: {
    // Large packages that hold no state are loaded once a worker, outside the vm context of the suites, where globals are slow:
    // test/native/ has a module for each, which asks test/environment.mjs for it.
    "^@?(fastify|light-my-request|canonicalize|modelcontextprotocol/(?:client|sdk)(?:/.*)?)$":
      "<rootDir>/test/native/$1.cjs",
    "^fast-check$": "<rootDir>/test/fast-check.mjs",
    "^(\\.{1,2}/.*)\\.js$": "$1",
  },
  // A bound for what hangs: on a busy machine, tests that start processes take many times as long, and machines may stand still for
  // seconds. Tests have no shorter ones of their own.
  testTimeout: 240000,
  // Jest leaves one core idle unless told.
  maxWorkers: "100%",
  // A worker above this is replaced after its suite.
  workerIdleMemoryLimit: "500MB",
};
