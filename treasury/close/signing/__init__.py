"""What a step of a close says: the sentence that a person confirms and the journal keeps."""
