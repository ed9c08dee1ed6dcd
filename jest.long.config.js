import base from "./jest.config.js";

/** @type {import("jest").Config} */
export default {
  ...base,
  testMatch: ["<rootDir>/test/long/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/"],
  testTimeout: 900000,
};
