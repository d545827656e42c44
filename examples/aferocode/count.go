package aferocode

import (
	"io/fs"
	"strings"

	"github.com/spf13/afero"
)

// Words counts the words in all files below dir.
func Words(files afero.Fs, dir string) (int, error) {
	count := 0
	err := afero.Walk(files, dir, func(path string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := afero.ReadFile(files, path)
		count += len(strings.Fields(string(text)))
		return err
	})
	return count, err
}
