import base from "./jest.config.js";

/** @type {import("jest").Config} */
export default {
  ...base,
  // Temporary directories lie on the disk: what these make is large.
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: ["<rootDir>/test/long/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/"],
  testTimeout: 900000,
};
