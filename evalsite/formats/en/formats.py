"""Times as pages write them, in UTC (pages/templatetags/readable.py)."""

from typing import Final

DATE_FORMAT: Final = "Y-m-d"
SHORT_DATE_FORMAT: Final = DATE_FORMAT
TIME_FORMAT: Final = "H:i:s"
DATETIME_FORMAT: Final = "Y-m-d H:i:s"
SHORT_DATETIME_FORMAT: Final = "Y-m-d H:i"
