"""FastAPI over the same table, the plain way: uvicorn fastapi_peer:api, DATABASE set."""

import os
import sqlite3
import threading

from fastapi import FastAPI

api = FastAPI()
local = threading.local()
FIELDS = "id, nombre, fecha, edad, lugar, foto, url"


def rows(sql, values=()):
    if not hasattr(local, "db"):
        local.db = sqlite3.connect(os.environ["DATABASE"])
        local.db.row_factory = sqlite3.Row
    return [dict(row) for row in local.db.execute(sql, values)]


@api.get("/api/persona-random")
def persona_random():
    return rows(f"SELECT {FIELDS} FROM person ORDER BY random() LIMIT 1")[0]


@api.get("/api/personas")
def personas(limit: int = 20, page: int = 1):
    total = rows("SELECT count(*) AS n FROM person")[0]["n"]
    sql = f"SELECT {FIELDS} FROM person ORDER BY position LIMIT ? OFFSET ?"
    shown = rows(sql, (limit, (page - 1) * limit))
    return {"personas": shown, "total": total, "page": page, "totalPages": -(-total // limit)}
