"""The steps that find what came to the company's coins and what left them."""
