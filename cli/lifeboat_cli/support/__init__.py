"""The parts of a fault report: versions and the support bundle."""
