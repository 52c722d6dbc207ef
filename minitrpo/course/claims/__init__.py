"""What the seeds claim, measured again: runs that could contradict a sentence, their picture, and what they say."""
