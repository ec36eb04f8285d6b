"""What every panel is made of: blocks, pages of a query, work in the background, lists."""
