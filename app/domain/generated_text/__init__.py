"""A model's text: cut once into units, and for each unit its citations and what may be shown."""
