"""The two first screens: the morning as of now, and one month; as text, HTML and rows.

Each is at most 24 lines of 100 columns. Every count is the length of a list of open items, which
`Status.lists` has by the name of its row.
"""

from treasury.report.screens.month_status import month_screen
from treasury.report.screens.morning_status import Morning, morning_screen
from treasury.report.screens.screen_rows import Status

__all__ = ["Morning", "Status", "month_screen", "morning_screen"]
