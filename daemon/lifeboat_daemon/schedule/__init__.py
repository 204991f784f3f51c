"""When work is due: the cadence of each agent, timers, time spent asleep, and the local time zone."""
