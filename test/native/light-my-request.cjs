module.exports = globalThis[Symbol.for("venue-files.import")]("light-my-request");
