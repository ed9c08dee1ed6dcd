// The framework alone: it parses the body as JSON and answers every POST with the bytes it was given at the start.
import fastify from "fastify";

const { headers, body } = JSON.parse(process.argv[2]);
const app = fastify();
app.post("/api/v1/invoke", (_request, reply) => reply.code(201).headers(headers).serializer(String).send(body));
await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`listens on http://127.0.0.1:${app.server.address().port}\n`);
