"""This machine: power, network, clock and folders."""
