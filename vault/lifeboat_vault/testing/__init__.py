"""What tests of vaults and remotes use."""
