"""The tests of sfumato; the folders mirror `src/sfumato`."""
