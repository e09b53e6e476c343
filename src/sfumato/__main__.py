"""Run the command line with `python -m sfumato`."""

from sfumato.cli.app import main

if __name__ == "__main__":
    main()
