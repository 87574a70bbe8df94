"""One part at a time, in this process: real libraries, or fakes of its ports."""
