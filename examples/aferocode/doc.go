// Package aferocode is code written for any afero.Fs, tested on HDFS: see the test file.
package aferocode
