"""The steps that tell what came to the company's coins and what left them."""
