"""Money spent on providers, by day: one SQLite file."""

from datetime import date

from app.adapters.sqlite.file import SqliteFile
from app.services.budget import Dollars
from app.services.threads import in_thread


class SqliteSpending(SqliteFile):
    """Implements the `SpendingStore` port; safe to use from several threads and processes."""

    schema = """
    CREATE TABLE IF NOT EXISTS spending (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
    """
    name = "the spending"
    remedy = "restore a copy, or delete this file"
    wal = True

    @in_thread
    def spent(self, day: date) -> Dollars:
        query = (
            "SELECT coalesce(sum(usd) FILTER (WHERE day = ?), 0.0), coalesce(sum(usd), 0.0) "
            "FROM spending WHERE substr(day, 1, 7) = ?"
        )
        with self.reading() as connection:
            row = connection.execute(query, (day.isoformat(), f"{day:%Y-%m}")).fetchone()
        return {"day": row[0], "month": row[1]}

    @in_thread
    def add(self, day: date, usd: float) -> None:
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO spending VALUES (?, ?) "
                "ON CONFLICT (day) DO UPDATE SET usd = usd + excluded.usd",
                (day.isoformat(), usd),
            )
