import sys

from postern_cli.main import main

sys.exit(main())
