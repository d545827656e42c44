package minidfs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Resolve gives the namenodes, host:port each, that a file system's URI stands for: hdfs://host:port[,host:port], or the
// logical name of several namenodes, which the site files in confDir explain (HADOOP_CONF_DIR; "" for none).
func Resolve(uri, confDir string) ([]string, error) {
	wrong := func(why string) error {
		return fmt.Errorf("minidfs: %q is no address of an HDFS: %s; write hdfs://host:port[,host:port], or a logical name with HADOOP_CONF_DIR", uri, why)
	}
	rest, ok := strings.CutPrefix(uri, "hdfs://")
	if !ok {
		return nil, wrong("it does not begin with hdfs://")
	}
	list := strings.Split(strings.TrimSuffix(rest, "/"), ",")
	for _, addr := range list {
		u, err := url.Parse("hdfs://" + addr)
		switch {
		case err != nil || u.Path != "" || u.RawQuery != "" || u.User != nil || u.Hostname() == "":
			return nil, wrong(fmt.Sprintf("%q is not host:port", addr))
		case u.Port() == "" && len(list) == 1 && confDir != "":
			return logical(addr, confDir)
		case u.Port() == "":
			return nil, wrong(fmt.Sprintf("%q has no port", addr))
		}
	}
	return list, nil
}

// logical looks a nameservice up in Hadoop's site files.
func logical(name, confDir string) ([]string, error) {
	site := map[string]string{}
	for _, file := range []string{"core-site.xml", "hdfs-site.xml"} {
		if err := readSite(filepath.Join(confDir, file), site); err != nil {
			return nil, err
		}
	}
	var addrs []string
	for _, id := range strings.Split(site["dfs.ha.namenodes."+name], ",") {
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		key := "dfs.namenode.rpc-address." + name + "." + id
		if site[key] == "" {
			return nil, fmt.Errorf("minidfs: %s names the namenode %s of %s, but not its address: %s is missing", confDir, id, name, key)
		}
		addrs = append(addrs, site[key])
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("minidfs: %s does not know the file system %s: dfs.ha.namenodes.%s is missing", confDir, name, name)
	}
	return addrs, nil
}

// readSite adds the properties of a site file; one that is missing has none.
func readSite(path string, into map[string]string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	var site struct {
		Properties []property `xml:"property"`
	}
	if err := xml.Unmarshal(text, &site); err != nil {
		return fmt.Errorf("minidfs: %s: %w", path, err)
	}
	for _, p := range site.Properties {
		into[strings.TrimSpace(p.Name)] = strings.TrimSpace(p.Value)
	}
	return nil
}
