module.exports = globalThis[Symbol.for("venue-files.import")]("fastify");
