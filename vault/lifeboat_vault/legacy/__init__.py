"""Serve clients of the older service: accept what they send as they mean it, and answer in a form that they can use."""
