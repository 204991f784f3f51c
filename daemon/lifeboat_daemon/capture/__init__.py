"""Capture: from a workspace to one new sequence of the agent's vault, at a cost that follows what changed."""

from lifeboat_daemon.capture.report import CaptureReport
from lifeboat_daemon.capture.run import capture

__all__ = ["CaptureReport", "capture"]
