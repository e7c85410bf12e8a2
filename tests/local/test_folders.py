from __future__ import annotations

import platformdirs

from toolkit.local.folders import cache_folder, config_folder


def test_folders(caches):
    """The folders are those of the system, with the name of the toolkit; nothing is created."""
    assert cache_folder() == caches
    assert str(cache_folder()) == platformdirs.user_cache_dir("service-access-toolkit", appauthor=False)
    assert str(config_folder()) == platformdirs.user_config_dir("service-access-toolkit", appauthor=False)
    assert not caches.exists()
