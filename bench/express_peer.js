const express = require("express");
const tables = require("./tables");
const app = express();
app.get("/api/persona-random", (request, response) => response.json(tables.random()));
app.get("/api/personas", (request, response) => response.json(tables.personas(request.query)));
app.get("/api/stats", (request, response) => response.json(tables.stats()));
app.listen(+process.env.PORT, "127.0.0.1");
