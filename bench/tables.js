// The same table, the plain way, for the two Node peers.
const db = require("better-sqlite3")(process.env.DATABASE, { readonly: true });
const fields = "id, nombre, fecha, edad, lugar, foto, url";
const random = db.prepare(`SELECT ${fields} FROM person ORDER BY random() LIMIT 1`);
const count = db.prepare("SELECT count(*) AS n FROM person");
const list = db.prepare(`SELECT ${fields} FROM person ORDER BY position LIMIT ? OFFSET ?`);

const stats = db.prepare(`SELECT (SELECT count(*) FROM person) AS active,
  (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM site) AS sites,
  (SELECT views FROM total) AS views, (SELECT ended FROM last_good) AS lastSync`);

exports.stats = () => stats.get();
exports.random = () => random.get();
exports.personas = ({ limit = 20, page = 1 }) => {
  const total = count.get().n;
  const personas = list.all(+limit, (page - 1) * limit);
  return { personas, total, page: +page, totalPages: Math.ceil(total / limit) };
};
