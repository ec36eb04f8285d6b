"""Notices: what is new on the list of open items, told once by mail and webhook."""

from treasury.workspace.notices.due_items import DueItem, due_items
from treasury.workspace.notices.notice_desk import NoticeDesk, NoticeReport

__all__ = ["DueItem", "NoticeDesk", "NoticeReport", "due_items"]
