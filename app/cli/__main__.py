import sys

from app.cli.entry import main

sys.exit(main())
