"""How a policy meets the world: environments, rollouts, episodes as arrays and masks. Serves lectures 05 to 08."""
