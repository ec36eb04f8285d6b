"""Notices: new open items, sent once by mail and webhook."""

from treasury.workspace.notices.due_items import DueItem, due_items
from treasury.workspace.notices.notice_sender import NoticeReport, NoticeSender

__all__ = ["DueItem", "NoticeReport", "NoticeSender", "due_items"]
