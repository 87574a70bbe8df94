"""The file of a backup."""

from app.adapters.qdrant.backup_file import BackupReader, BackupWriter

__all__ = ["BackupReader", "BackupWriter"]
