-- One row per code in `inexact_pairs` that alone is no proof (question 6: is it a code at all?). It consists
-- only of digits or has none, has fewer than `min_segment` characters, or has the form of an amount, a date, a
-- VAT number, an IBAN or a telephone number.
SELECT code
FROM (SELECT DISTINCT code FROM inexact_pairs) AS c
WHERE length(code) < (SELECT min_segment FROM rules)
    OR regexp_matches(code, '^([0-9]+|[^0-9]+)$')
    OR regexp_matches(code, '^(EURO|EUR|USD|GBP|CHF|EURC|USDC|USDT|USDS|ETH|POL|PLN|SEK|NOK|DKK|CZK|HUF|RON|BGN|ISK|TRY|UAH|RSD|JPY|CNY|HKD|SGD|AUD|NZD|CAD|MXN|BRL|INR|ZAR|ILS|AED|SAR|KRW|THB)[0-9]+$')
    OR regexp_matches(code, '^[0-9]+(EURO|EUR|USD|GBP|CHF|EURC|USDC|USDT|USDS|ETH|POL|PLN|SEK|NOK|DKK|CZK|HUF|RON|BGN|ISK|TRY|UAH|RSD|JPY|CNY|HKD|SGD|AUD|NZD|CAD|MXN|BRL|INR|ZAR|ILS|AED|SAR|KRW|THB)$')
    OR regexp_matches(code, '^(MON|TUE|WED|THU|FRI|SAT|SUN)?[0-9]{1,2}(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|MRZ|MRT|MAI|MEI|MAJ|OKT|DEZ|FEV|AVR|JUI|AOU|ENE|ABR|AGO|DIC|GEN|MAG|GIU|LUG|SET|OTT|OUT)[A-Z]*[0-9]{2,4}$')
    OR regexp_matches(code, '^(AD|AT|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|GB|GR|HR|HU|IE|IS|IT|LI|LT|LU|LV|MC|MT|NL|NO|PL|PT|RO|SE|SI|SK|SM|XI)([0-9]{8,}|U[0-9]{8}|[0-9]{9}B[0-9]{2}|[0-9]{2}[A-Z]{4}[0-9]{7,})$')
    OR regexp_matches(code, '^[0-9]{4}(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|MRZ|MRT|MAI|MEI|MAJ|OKT|DEZ|FEV|AVR|JUI|AOU|ENE|ABR|AGO|DIC|GEN|MAG|GIU|LUG|SET|OTT|OUT)[A-Z]*[0-9]{1,2}$')
    OR regexp_matches(code, '^(ES[A-Z][0-9]{7}[A-Z0-9]|ES[0-9]{8}[A-Z]|IE[0-9][A-Z0-9][0-9]{5}[A-W][A-I]?|CY[0-9]{8}[A-Z]|FR[A-Z0-9]{2}[0-9]{9}|CHE[0-9]{9}(MWST|TVA|IVA)?)$')
    OR regexp_matches(code, '^(AD|AT|BE|BG|CH|CY|CZ|DE|DK|EE|ES|FI|FR|GB|GR|HR|HU|IE|IS|IT|LI|LT|LU|LV|MC|MT|NL|NO|PL|PT|RO|SE|SI|SK|SM|XK)[0-9]{2}[A-Z0-9]{11,30}$')
    OR regexp_matches(code, '^(JAN|JANUARY|JANUAR|JANUARI|JANVIER|FEB|FEBRUARY|FEBRUAR|FEBRUARI|FEVRIER|MAR|MARCH|MAERZ|MRZ|MAART|MARS|APR|APRIL|AVRIL|MAY|MAI|MEI|JUN|JUNE|JUNI|JUIN|JUL|JULY|JULI|JUILLET|AUG|AUGUST|AUGUSTUS|AOUT|SEP|SEPT|SEPTEMBER|SEPTEMBRE|OCT|OCTOBER|OKT|OKTOBER|OCTOBRE|NOV|NOVEMBER|NOVEMBRE|DEC|DECEMBER|DEZ|DEZEMBER|DECEMBRE)(19|20)?[0-9]{2}$')
    OR regexp_matches(code, '^(NO[0-9]{9}MVA|[0-9]{9}B[0-9]{2}|[0-9]{8}T[0-9]{4,6}Z?)$')
    OR regexp_matches(code, '^(T|TEL|TELEFON|TELEFOON|PHONE|FAX|MOB|MOBILE|MOBIEL|MOBIL|CELL|HANDY|GSM)[0-9]{6,}$')
