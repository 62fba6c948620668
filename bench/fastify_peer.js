const fastify = require("fastify")();
const tables = require("./tables");
fastify.get("/api/persona-random", async () => tables.random());
fastify.get("/api/personas", async (request) => tables.personas(request.query));
fastify.get("/api/stats", async () => tables.stats());
fastify.listen({ port: +process.env.PORT, host: "127.0.0.1" });
