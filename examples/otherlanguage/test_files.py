"""Tests of a program in another language, run against an HDFS that exists for as long as they do."""
import os
import subprocess
import unittest

MINIDFS = os.environ.get("MINIDFS", "minidfs").split()


def fs(*args, stdin=None):
    """Runs a command of the minidfs shell; MINIDFS_URI, which `minidfs serve` has set, says where."""
    return subprocess.run(MINIDFS + ["fs", *args], input=stdin, capture_output=True)


class Files(unittest.TestCase):
    def test_round_trip(self):
        self.assertEqual(fs("mkdir", "-p", "/data/in").returncode, 0)
        self.assertEqual(fs("put", "-", "/data/in/numbers", stdin=b"1\n2\n3\n").returncode, 0)
        self.assertEqual(fs("cat", "/data/in/numbers").stdout, b"1\n2\n3\n")

    def test_missing_file(self):
        got = fs("cat", "/nowhere")
        self.assertEqual(got.returncode, 1)
        self.assertIn(b"/nowhere", got.stderr)


if __name__ == "__main__":
    unittest.main()
