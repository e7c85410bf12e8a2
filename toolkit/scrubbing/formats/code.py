"""Keys and tokens of hosts of code, registries of packages, and what builds and deploys."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format

_GITHUB: Final = r"[A-Za-z0-9]{36,255}+"
_GITLAB: Final = r"[A-Za-z0-9_.=-]{20,300}+"

FORMATS: Final = (
    *(Format("GitHub", "ACCESS_TOKEN", f"gh{letter}_", _GITHUB) for letter in "pousr"),
    Format("GitHub", "ACCESS_TOKEN", "github_pat_", r"[A-Za-z0-9_]{22,255}+"),
    *(
        Format("GitLab", "ACCESS_TOKEN", f"gl{letters}-", _GITLAB)
        for letters in "pat dt rt ptt ft soat agent oas cbt imt ffct rtr wt".split()
    ),
    Format("GitLab", "ACCESS_TOKEN", "GR1348941", r"[A-Za-z0-9_-]{20}(?![A-Za-z0-9_-])"),
    Format("Bitbucket", "PASSWORD", "ATBB", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Format("Atlassian", "ACCESS_TOKEN", "ATATT3", r"[A-Za-z0-9_=-]{50,300}+"),
    Format("Atlassian", "ACCESS_TOKEN", "ATCTT3", r"[A-Za-z0-9_=-]{50,300}+"),
    Format("npm", "ACCESS_TOKEN", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    Format("PyPI", "ACCESS_TOKEN", "pypi-", r"[A-Za-z0-9_-]{50,500}+"),
    Format("RubyGems", "ACCESS_TOKEN", "rubygems_", r"[0-9a-f]{48}"),
    Format("NuGet", "API_KEY", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    Format("crates.io", "ACCESS_TOKEN", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", is_certain=False),
    Format("Clojars", "ACCESS_TOKEN", "CLOJARS_", r"[0-9a-z]{60}"),
    Format("Docker", "ACCESS_TOKEN", "dckr_pat_", r"[A-Za-z0-9_-]{20,60}+"),
    Format("Docker", "ACCESS_TOKEN", "dckr_oat_", r"[A-Za-z0-9_-]{20,60}+"),
    Format("Artifactory", "API_KEY", "AKCp", r"[A-Za-z0-9]{60,80}+"),
    Format("Artifactory", "ACCESS_TOKEN", "cmVmdGtuO", r"[A-Za-z0-9]{50,70}+"),
    Format("CircleCI", "ACCESS_TOKEN", "CCIPAT_", r"[A-Za-z0-9]{15,30}+_[0-9a-f]{40}"),
    Format("CircleCI", "ACCESS_TOKEN", "CCIPRJ_", r"[A-Za-z0-9]{15,30}+_[0-9a-f]{40}"),
    Format("Buildkite", "ACCESS_TOKEN", "bkua_", r"[0-9a-f]{40}"),
    Format("SonarQube", "ACCESS_TOKEN", "squ_", r"[0-9a-f]{40}"),
    Format("SonarQube", "ACCESS_TOKEN", "sqp_", r"[0-9a-f]{40}"),
    Format("SonarQube", "ACCESS_TOKEN", "sqa_", r"[0-9a-f]{40}"),
    Format("Sourcegraph", "ACCESS_TOKEN", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    Format("Postman", "API_KEY", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("Prefect", "API_KEY", "pnu_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    Format("Prefect", "API_KEY", "pnb_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
)
