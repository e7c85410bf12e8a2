"""Keys and tokens that standards and documentation show, which are not secrets."""

from __future__ import annotations

from typing import Final

SAMPLES: Final = frozenset(
    (
        # RFC 5849 (OAuth 1.0)
        " dpf43f3p2l4k3l03 74KNZJeDHnMBp0EMJ9ZHt/XKycU= hh5s93j4hdidpola hdhd0244k9j7ao03 hfdp7dh39dks9884"
        " gKgrFCywp7rO0OXSjdot/IHF7IU= nnch734d00sl2jdk pfkkdhi9sl3r4s00 9djdj82h48djs9d2 kkk9d7dh3k39sjv7"
        " bYT5CMsGcbgUdFHObYMEfcx6bsw= kd94hf93k423kf44 tR3+Ty81lMeYAr/Fid0kMTYa/WM="
        # RFC 6749, 6750, 7009, 7662 (OAuth 2.0)
        " 2YotnFZFEjr1zCsicMWpAA tGzv3JOkF0XG5Qx2TlKWIA SplxlOBeZQQYbYS6WxSbIA mF_9.B5f-4.1JqM 45ghiukldjahdnhzdauz"
        " czZCaGRSa3F0MzpnWDFmQmF0M2JW gX1fBat3bV 7Fjfp0ZBr1KtDRbnfVdmIw qBxsFxLq9fRw2GVS"
        # RFC 7519 and jwt.io
        " SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        # RFC 8628 and 7636
        " GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        # Emulators: Azurite, Cosmos DB
        " Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
        " C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
    ).split()
)
