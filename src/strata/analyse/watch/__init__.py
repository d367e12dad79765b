"""What somebody else's load shows of itself: its course, its places, and the pace of its completions."""
