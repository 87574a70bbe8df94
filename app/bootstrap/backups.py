"""The backup file's reader and writer, for the entry points."""

from app.adapters.qdrant.backup_file import BackupFileReader, BackupFileWriter

__all__ = ["BackupFileReader", "BackupFileWriter"]
