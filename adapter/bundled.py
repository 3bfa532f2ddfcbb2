"""Data that ships with the package: presets and ready policies.

In a wheel they lie beside this module; in a source tree they are the folder `policies/` at its root.
"""

from pathlib import Path

import yaml

from adapter.core.diagnosis import DiagnosisTable
from adapter.core.documents import read_documents
from adapter.core.presets import PresetFamily, PresetLibrary


def policies_folder() -> Path:
    """The folder of the bundled policies and presets."""
    shipped = Path(__file__).parent / "bundled" / "policies"
    return shipped if shipped.is_dir() else Path(__file__).parent.parent / "policies"


def load_presets() -> PresetLibrary:
    """The bundled presets and diagnoses; a broken file is a broken package and ends the process."""
    folder = policies_folder()
    families = {}
    for path in sorted((folder / "presets").glob("*.yaml")):
        family = PresetFamily.model_validate(_read(path))
        families[family.family] = family
    return PresetLibrary(families, DiagnosisTable.model_validate(_read(folder / "diagnoses.yaml")))


def _read(path: Path) -> object:
    documents, problems = read_documents(path.read_text(encoding="utf-8"), str(path))
    if problems or len(documents) != 1:
        raise yaml.YAMLError("\n".join(map(str, problems)) or f"{path}: one document expected")
    return documents[0].value
