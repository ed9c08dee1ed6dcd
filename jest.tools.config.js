import base from "./jest.config.js";

// What these suites start takes the cores for itself, so they run one after the other.
/** @type {import("jest").Config} */
export default {
  ...base,
  // Temporary directories lie on the disk: sandboxes have a /dev/shm of their own.
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: ["<rootDir>/test/**/*.tools.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "<rootDir>/test/long/"],
  maxWorkers: 1,
};
