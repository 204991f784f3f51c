"""When: the cadence of each agent, timers, gaps of sleep, and the state of power and network."""
