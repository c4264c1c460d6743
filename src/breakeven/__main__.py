"""`python -m breakeven` is the command line."""

from breakeven.cli.main import main

raise SystemExit(main())
