"""The program as it runs: served processes, a browser, real books, crashes, attacks."""
