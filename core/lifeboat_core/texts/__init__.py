"""Texts for people: numbers, times, names that are safe on a terminal."""
