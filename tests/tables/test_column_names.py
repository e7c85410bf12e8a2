from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.column_names import distinct, is_identifier, is_key, is_label

# Names that data services use for codes, with the text that they send.
CODES = """
    id accountId order_id orderId uniqueID id_str in_reply_to_status_id_str userid orderno txid conid permId uid
    account_number accountNumber number phone_number IDNumber partial_card_number number_text orderNum acct_num nbr
    src_line_nbr agency_cd price_code zipCode sortCode calling_code country_code currencyCode transaction_event_code
    account account_no cusip ISIN sedol figi compositeFIGI lei iban cik ein ssn tin sic naics naics_code mcc mic bin
    iin pan mask swift bic aba routing routingNumber sort_code bsb clabe duns gvkey wkn
    zip zip4 zip_plus_4 plus4 postal postalCode postcode fips geoid huc icao24 phone phone_2 mobile fax
    last4 last_4 lastFour card_last4 cardLast4 last4_digits first6
    prefix member-prefix suffix version resourceVersion api_version hash blockHash sha256 md5 checksum etag commit
    symbol ticker sku serial upc gtin isbn issn doi pmid check_code reference neo_reference_id unique_key
    account_balance_id number_of_shares_code
""".split()
# Names of things, classes and times: digits stay text, dates and times are recognised.
LABELS = """
    name title country state county tract city type status industry form act series edition exchange currency
    customer user owner member merchant issuer underlying contract station check_digit color release build
    session_open session_close sessionClose sessionStart open_time closeTime fiscalYearEnd
    record_calendar_month record_calendar_day exp_month month date recall_initiation_date expiry maturity date_str
    order_type asset_class base_currency
""".split()
AMOUNTS = """
    cash paid bid mid grid valid account_value account_balance accountBalance number_of_shares numberOfShares
    order_count orderCount id_count ids_total numbers numberTotal price code_count version_count prefix_length
    open close last high low volume vwap market_open regularMarketOpen last_price last4_average first lastSize
    amount total_price tax fee vat rate year fiscal_year level position quantity units unit_price size lot
    lat lon latitude longitude score timestamp time epoch start_time response_time elapsed days months day_count
    amount_currency amountCurrency amount_in_account_currency cost_per_user price_per_unit year_to_date paid_to_date
    tax_state fee_exchange change_1_month performance_day price_str price_text shares supply hash_rate hashRate
    USD EUR CRC BTC CVC pin_count num num_trades total_num numTrades index rank value _
""".split()


def test_names_of_codes():
    """Text with the name of a code stays text, in every style of writing, and after other words."""
    names = [*CODES, *(f"owner_{name}" for name in CODES), *(name.upper() for name in CODES if name.islower())]
    assert [name for name in names if not is_identifier(name)] == []


def test_names_of_labels():
    """Digits are not a quantity, but the name does not rule out dates."""
    names = [*LABELS, *(f"owner_{name}" for name in LABELS if name != "month")]
    assert [name for name in names if not is_label(name) or is_identifier(name)] == []


def test_names_of_amounts():
    """Part of a word, a word that is not the last word, or the unit of an amount does not make a code."""
    assert [name for name in [*AMOUNTS, ""] if is_identifier(name) or is_label(name)] == []


def test_keys():
    """An account number tells records apart, a phone number and a postal code do not."""
    assert is_key("account_number")
    assert is_key("id")
    assert not is_key("phone_number")
    assert not is_key("postal_code")


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "a (2) (2)"])))
def test_distinct_names(names):
    """Every name is different and in its place, and the first of equal names stays as it is."""
    result = distinct(names)
    assert len(set(result)) == len(result) == len(names)
    for index, (name, chosen) in enumerate(zip(names, result, strict=True)):
        assert chosen == name if name not in names[:index] else chosen.startswith(f"{name} (")
