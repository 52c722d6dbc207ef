"""The settings of another run, to be used once more."""

import json
from pathlib import Path
from typing import Any

from minitrpo.errors import BadInput
from minitrpo.run_folder.files import read_small


def recorded(config: str) -> dict[str, Any]:
    """Return the settings in a run's config.json, or in its folder; BadInput if there are none."""
    path = Path(config) / "config.json" if Path(config).is_dir() else Path(config)
    try:
        settings = json.loads(read_small(path))["settings"]
        if not isinstance(settings, dict):
            raise ValueError
        return settings
    except OSError as error:
        raise BadInput(f"--config: cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"--config: {path} does not hold the settings of a run") from error
