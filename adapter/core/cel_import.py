"""The library `cel` without its command line.

The package imports its own interactive shell, and with it prompt_toolkit and pygments: 80 of the 270 ms that a command
needs to start. While it is imported an empty module stands in for that shell, and is gone afterwards.
"""

import sys
from types import ModuleType

_SHELL = "cel.cli"

if "cel" in sys.modules:
    import cel
else:
    sys.modules[_SHELL] = ModuleType(_SHELL)
    try:
        import cel
    finally:
        del sys.modules[_SHELL]

__all__ = ["cel"]
