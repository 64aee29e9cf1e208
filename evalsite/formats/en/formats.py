"""Times as the admin writes them: in UTC, and they say so.

Pages write theirs by pages/templatetags/readable.py, which a script turns to the viewer's zone.
"""

from typing import Final

DATE_FORMAT: Final = "Y-m-d"
SHORT_DATE_FORMAT: Final = DATE_FORMAT
TIME_FORMAT: Final = "H:i:s"
DATETIME_FORMAT: Final = "Y-m-d H:i:s T"
SHORT_DATETIME_FORMAT: Final = "Y-m-d H:i T"
