"""How a policy meets the world: environments, episodes as arrays and masks, rollouts. Serves lectures 05 to 08."""
